// The data of a page: schedules, what the verifier and the explainer say of them, costs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/schedule.h"
#include "core/topology/topology.h"
#include "tools/rondo/predict.h"

namespace rondo::tool {

/// More ranks than this do not fit on a page, and their contributions are not kept as sets.
inline constexpr int most_page_ranks = 64;
/// The largest page, in bytes.
inline constexpr std::size_t most_page_bytes = 400 * 1000;

struct PageContent {
  std::string title{};
  std::vector<Schedule> schedules{};  ///< the first is shown, others can be chosen in the page
  bool own_text = false;              ///< the first is a user's, even if it names a known algorithm
  std::vector<std::vector<Schedule>> worlds{};  ///< the same for other numbers of ranks
  int compared = -1;      ///< index of the schedule beside it at the start; -1: none
  Topology topology{};    ///< of the schedules' ranks, where their hosts are known
  std::string command{};  ///< the command that writes this page; empty: not shown
  std::string lesson{};   ///< a lesson's HTML, beside the stage; may be empty
  std::string notes{};    ///< a lesson's table, a panel below the stage; may be empty
  std::string real{};  ///< JSON of how the first one really ran (see replay.js); empty: it did not
  double bytes = 1 << 20;              ///< N at the start
  double alpha = default_costs.alpha;  ///< seconds a message, at the start; inside a host
  double beta = default_costs.beta;    ///< seconds a byte
  double gamma = default_costs.gamma;  ///< seconds a reduced byte
};

/// Throws Error{invalid_argument} for schedules that do not fit on a page.
nlohmann::ordered_json page_data(const PageContent& content);

/// JSON for a <script> element: ASCII only, without '<', '>' and '&', so no text in it can end the
/// element.
std::string script_safe(const nlohmann::ordered_json& data);

}  // namespace rondo::tool
