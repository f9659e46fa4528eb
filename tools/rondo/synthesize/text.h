// The text of synthesized schedules, which programs run.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/topology/topology.h"

namespace rondo::tool {

/// What stands before the steps.
struct TextHead {
  std::vector<std::string> comments{};
  std::string name{};   ///< of the algorithm
  std::string sizes{};  ///< the calls it is for, as "64K..1M"; empty: all
};

/// One schedule, or one for each root, in order. The text is for these ranks on hosts like these.
std::string synthesized_text(const std::vector<Schedule>& by_root, const Topology& topology,
                             const TextHead& head);

}  // namespace rondo::tool
