#include "core/control/ending.h"

#include "core/control/analyzer.h"

namespace rondo::control {

std::string why_unproven(const Ending& ending, Presence presence) {
  const bool ended_in_order = ending.why.empty() && presence != Presence::alive;
  if (presence == Presence::dead || ended_in_order) return "";
  if (ending.by_network) return broken_path(ending.why);
  return "its control connection ended" + (ending.why.empty() ? "" : ": " + ending.why);
}

}  // namespace rondo::control
