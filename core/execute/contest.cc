#include "core/execute/contest.h"

#include <algorithm>
#include <bit>

namespace rondo::detail {

std::size_t Contest::place(const Kind& kind) {
  return static_cast<std::size_t>(kind.collective) * sizes_kept +
         static_cast<std::size_t>(std::bit_width(kind.bytes));
}

Contest::Way Contest::next(const Kind& kind) {
  State& state = at(kind);
  const std::uint64_t call = state.calls++ % period;
  if (call < turns) return call % 2 == 0 ? Way::messages : Way::copies;
  return state.faster;
}

bool Contest::record(const Kind& kind, Way way, std::uint32_t nanoseconds) {
  State& state = at(kind);
  const std::uint64_t call = state.recorded++ % period;
  if (call >= turns) return false;
  std::uint32_t& best = state.nanoseconds[static_cast<std::size_t>(way)];
  best = call < 2 ? nanoseconds : std::min(nanoseconds, best);
  if (call + 1 < turns) return false;
  const double champion = state.nanoseconds[static_cast<std::size_t>(state.faster)];
  const double rival = state.nanoseconds[static_cast<std::size_t>(other(state.faster))];
  const bool changed = rival < champion * clearly;
  if (changed) state.faster = other(state.faster);
  return changed || state.recorded == turns;
}

}  // namespace rondo::detail
