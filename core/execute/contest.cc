#include "core/execute/contest.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace rondo::detail {

std::size_t Contest::place(const Kind& kind) {
  return static_cast<std::size_t>(kind.collective) * sizes_kept +
         static_cast<std::size_t>(std::bit_width(kind.bytes));
}

void Contest::inherit(const Kind& kind) {
  State& heir = at(kind);
  heir.begun = true;
  for (std::size_t smaller = 1; smaller <= akin; ++smaller) {
    const State& state = at({kind.collective, kind.bytes >> smaller});
    if (!state.known) continue;
    heir.faster = state.faster;
    heir.call = period - inherited;
    return;
  }
}

Contest::Turn Contest::next(const Kind& kind) {
  State& state = at(kind);
  const bool first = !state.begun;
  if (first) inherit(kind);
  if (state.windows) return {.way = Way::direct};
  const std::uint64_t length = block(kind.bytes);
  const std::uint64_t call = std::exchange(state.call, (state.call + 1) % period);
  if (call == 0) state.best = {};
  if (call < blocks * length) {
    if (call % length == 0) state.sum = state.summed = 0;
    return {.way = call / length % 2 == 0 ? Way::direct : Way::messages, .timed = true};
  }
  if (call == blocks * length) return {.way = Way::direct, .settles = true};
  const bool looks = state.faster == Way::messages && (first || call % look_every(kind.bytes) == 0);
  return {.way = looks ? Way::direct : state.faster, .looks = looks};
}

// A block that lost a call to windows counts for nothing.
void Contest::add(const Kind& kind, Way way, std::uint64_t nanoseconds) {
  State& state = at(kind);
  state.sum += nanoseconds;
  if (++state.summed < block(kind.bytes)) return;
  const std::uint64_t mean = std::max<std::uint64_t>(state.sum / state.summed, 1);
  std::uint64_t& best = state.best[static_cast<std::size_t>(way)];
  best = best == 0 ? mean : std::min(best, mean);
}

Contest::Times Contest::best(const Kind& kind) const { return at(kind).best; }

bool Contest::settle(const Kind& kind, const Times& slowest) {
  State& state = at(kind);
  const auto time = [&](Way way) {
    return static_cast<double>(slowest[static_cast<std::size_t>(way)]);
  };
  if (time(Way::direct) == 0 || time(Way::messages) == 0) return false;
  const Way rival = state.faster == Way::direct ? Way::messages : Way::direct;
  const bool changes = time(rival) < time(state.faster) * clearly;
  if (changes) state.faster = rival;
  return !std::exchange(state.known, true) || changes;
}

}  // namespace rondo::detail
