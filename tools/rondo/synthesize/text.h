// The text of synthesized schedules, which programs run.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/topology/topology.h"

namespace rondo::tool {

/// One schedule, or one for each root, in order. The text is for these ranks on hosts like these.
/// `name`: of the algorithm.
std::string synthesized_text(const std::vector<Schedule>& by_root, const Topology& topology,
                             const std::string& name, const std::vector<std::string>& comments);

}  // namespace rondo::tool
