#include "core/execute/contest.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace rondo::detail {

std::size_t Contest::place(const Kind& kind) {
  const std::size_t row = 2 * static_cast<std::size_t>(kind.collective) + (kind.ragged ? 1 : 0);
  return row * sizes_kept + static_cast<std::size_t>(std::bit_width(kind.bytes));
}

std::uint64_t Contest::rest_of(double ratio) {
  return static_cast<std::uint64_t>(std::max(shortest_rest, price * (ratio - 1)));
}

// An inherited ratio is believed half as much.
void Contest::inherit(const Kind& kind) {
  State& heir = at(kind);
  heir.begun = true;
  for (std::size_t smaller = 1; smaller <= akin; ++smaller) {
    const State& state = at({kind.collective, kind.bytes >> smaller, kind.ragged});
    if (state.ratio == 0) continue;
    heir.faster = state.faster;
    heir.ratio = state.known ? state.ratio : 1 + (state.ratio - 1) / 2;
    heir.rest = rest_of(heir.ratio);
    return;
  }
}

Contest::Turn Contest::next(const Kind& kind) {
  State& state = at(kind);
  const bool first = !state.begun;
  if (first) inherit(kind);
  if (state.windows) return {.way = Way::direct};
  if (state.ratio == 0 && first) return {.way = Way::direct, .looks = true};
  if (state.rest == 0) return trial(state);
  const bool watched = watches_ && kind.bytes >= watched_bytes;
  // Where ranks outnumber cores a meeting costs each of them a turn of the scheduler. Large calls
  // notice that, too, so they look as seldom as small ones.
  const std::size_t bytes = !watches_ ? 0 : watched ? oftener * kind.bytes : kind.bytes;
  const std::uint64_t every = look_every(bytes);
  const bool looks = state.faster == Way::messages && (first || state.rest % every == 0);
  --state.rest;
  return {.way = looks ? Way::direct : state.faster,
          .looks = looks,
          .watched = watched,
          .hears = watched && (looks || state.faster == Way::direct)};
}

Contest::Turn Contest::trial(State& state) {
  if (state.step == 0) {
    state.best = {};
    state.last = {};
    if (state.ratio == 0) ++state.step;
  }
  const Way slower = state.faster == Way::direct ? Way::messages : Way::direct;
  switch (state.step++) {
    case 0:
    case 1:
      return {.way = state.faster, .timed = true};
    case 2:
      return {.way = slower, .timed = true};
    default:
      state.step = 0;
      return {.way = Way::direct, .settles = true};
  }
}

std::size_t Contest::nominal_bytes(const Kind& kind) {
  return kind.bytes < watched_bytes ? kind.bytes : std::bit_floor(kind.bytes);
}

std::uint64_t Contest::scaled(const Kind& kind, std::uint64_t nanoseconds) {
  const auto bytes = static_cast<double>(std::max<std::size_t>(kind.bytes, 1));
  const double share = static_cast<double>(nominal_bytes(kind)) / bytes;
  const auto time = static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * share);
  return std::max<std::uint64_t>(time, 1);
}

void Contest::add(const Kind& kind, Way way, std::uint64_t nanoseconds) {
  std::uint64_t& best = at(kind).best[static_cast<std::size_t>(way)];
  const std::uint64_t time = scaled(kind, nanoseconds);
  best = best == 0 ? time : std::min(best, time);
}

Contest::Times Contest::best(const Kind& kind) const { return at(kind).best; }

void Contest::watch(const Kind& kind, std::uint64_t nanoseconds) {
  auto& last = at(kind).last;
  last = {last[1], scaled(kind, nanoseconds)};
}

// One long call may be that of a rank that was held up. Two in a row show that the path is slow.
Contest::Times Contest::recent(const Kind& kind) const {
  const State& state = at(kind);
  Times times{};
  if (state.last[0] != 0)
    times[static_cast<std::size_t>(state.faster)] = std::min(state.last[0], state.last[1]);
  return times;
}

bool Contest::hear(const Kind& kind, const Times& slowest) {
  State& state = at(kind);
  const Way rival = state.faster == Way::direct ? Way::messages : Way::direct;
  const std::uint64_t now = slowest[static_cast<std::size_t>(state.faster)];
  const std::uint64_t then = state.heard[static_cast<std::size_t>(rival)];
  if (now == 0 || then == 0) return false;
  state.heard[static_cast<std::size_t>(state.faster)] = now;
  const double ratio = static_cast<double>(now) / static_cast<double>(then);
  if (ratio <= slowed) return false;
  turn_to(state, rival);
  state.ratio = std::min(ratio, most_ratio);
  state.unchanged = 0;
  state.rest = rest_of(state.ratio);
  return true;
}

void Contest::turn_to(State& state, Way way) {
  state.faster = way;
  state.last = {};
}

// A trial that lost a call to windows, or all calls of one path, says nothing.
bool Contest::settle(const Kind& kind, const Times& slowest) {
  State& state = at(kind);
  state.rest = rest_of(1);
  const auto time = [&](Way way) {
    return static_cast<double>(slowest[static_cast<std::size_t>(way)]);
  };
  if (time(Way::direct) == 0 || time(Way::messages) == 0) return false;
  state.heard = slowest;
  const Way rival = state.faster == Way::direct ? Way::messages : Way::direct;
  const bool changes = time(rival) < time(state.faster) * clearly;
  const bool news = !std::exchange(state.known, true) || changes;
  if (changes) turn_to(state, rival);
  const double ratio = std::max(time(Way::direct), time(Way::messages)) /
                       std::min(time(Way::direct), time(Way::messages));
  state.ratio = std::min(ratio, most_ratio);
  state.unchanged = news ? 0 : std::min(state.unchanged + 1, most_doublings);
  state.rest = rest_of(state.ratio) << state.unchanged;
  return news;
}

}  // namespace rondo::detail
