// `rondo explain --html`: the options, and the page they ask for.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "core/topology/topology.h"

namespace rondo::tool {

struct PageArguments {
  std::string file{};
  std::string compare{};
  std::string profile{};    ///< of `rondo calibrate`; empty: default_costs
  std::string transport{};  ///< one of the profile; empty: its first

  bool wanted() const { return !file.empty() || !compare.empty(); }
};

/// What a page is about.
struct PageSubject {
  Schedule schedule{};
  bool own_text = false;  ///< a user's schedule, not one of the table
  Topology topology{};    ///< of its ranks
  std::string ranks{};    ///< the option that said them: "--ranks 8", "--hosts 2x4"
  std::optional<Costs>
      costs{};  ///< alpha, beta and gamma of the page's clock; default: default_costs
};

/// Call this after all other options have been added: those for tables exclude --html.
void add_page_options(CLI::App& command, PageArguments& arguments);

/// Throws Error{invalid_argument} if the schedule does not fit on a page, the algorithm to compare
/// with is unknown, or the file cannot be written.
void write_explained_page(const PageSubject& subject, const PageArguments& arguments);

}  // namespace rondo::tool
