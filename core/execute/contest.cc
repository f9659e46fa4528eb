#include "core/execute/contest.h"

#include <algorithm>
#include <bit>
#include <limits>
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
    heir.call = blocks * block(kind.bytes) + 1;
    return;
  }
}

Contest::Turn Contest::next(const Kind& kind) {
  State& state = at(kind);
  if (!state.begun) inherit(kind);
  if (state.windows) return {Way::direct};
  const std::uint64_t length = block(kind.bytes);
  const std::uint64_t call = std::exchange(state.call, (state.call + 1) % period);
  if (call == 0) state.best = {};
  if (call < blocks * length)
    return {.way = call / length % 2 == 0 ? Way::direct : Way::messages, .timed = true};
  if (call == blocks * length) return {.way = Way::direct, .settles = true};
  const bool looks = state.faster == Way::messages && call % look_every(kind.bytes) == 0;
  return {.way = looks ? Way::direct : state.faster, .looks = looks};
}

void Contest::add(const Kind& kind, Way way, std::uint64_t nanoseconds) {
  State& state = at(kind);
  state.sum += nanoseconds;
  const std::uint64_t length = block(kind.bytes);
  if (++state.summed < length) return;
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t mean = std::clamp<std::uint64_t>(state.sum / length, 1, most);
  std::uint32_t& best = state.best[static_cast<std::size_t>(way)];
  best = best == 0 ? static_cast<std::uint32_t>(mean)
                   : std::min(best, static_cast<std::uint32_t>(mean));
  state.sum = 0;
  state.summed = 0;
}

void Contest::saw(const Kind& kind, bool all_in_windows) {
  State& state = at(kind);
  state.windows = all_in_windows;
  if (!all_in_windows) return;
  state.call = 0;
  state.sum = 0;
  state.summed = 0;
}

Contest::Times Contest::best(const Kind& kind) const { return at(kind).best; }

bool Contest::settle(const Kind& kind, const Times& slowest) {
  State& state = at(kind);
  const auto time = [&](Way way) { return double{1} * slowest[static_cast<std::size_t>(way)]; };
  const Way rival = state.faster == Way::direct ? Way::messages : Way::direct;
  const bool changes = time(rival) < time(state.faster) * clearly;
  if (changes) state.faster = rival;
  return !std::exchange(state.known, true) || changes;
}

}  // namespace rondo::detail
