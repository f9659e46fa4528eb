// Small schedules made by hand, and ways to break them. Independent of the table of algorithms.
#pragma once

#include <functional>
#include <vector>

#include "core/schedule/schedule.h"

namespace rondo::handmade {

/// Ring all-reduce: rank r ends the reduce-scatter owning chunk r. One phase name per half.
inline Steps ring_steps(int rank, int ranks) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  const auto chunk = [=](int k) { return ((rank - k) % ranks + ranks) % ranks; };
  if (ranks == 1) co_yield copy(input(0), output(0)).at(0, 0);
  for (int k = 1; k < ranks; ++k) {
    co_yield send(next, k == 1 ? input(chunk(k)) : scratch(0, chunk(k))).at(0, k - 1);
    const bool last = k == ranks - 1;
    const Chunk into = last ? output(chunk(k + 1)) : scratch(0, chunk(k + 1));
    co_yield receive_reduce(previous, input(chunk(k + 1)), into).at(0, k - 1);
  }
  for (int k = 0; k < ranks - 1; ++k) {
    co_yield send(next, output(chunk(k))).at(1, k);
    co_yield receive(previous, output(chunk(k + 1))).at(1, k);
  }
}

inline Schedule ring(int ranks) {
  return {.collective = Collective::all_reduce,
          .algorithm = "ring",
          .ranks = ranks,
          .layout = make_layout(Collective::all_reduce, ranks, ranks),
          .phases = {"reduce-scatter", "all-gather"},
          .steps = [ranks](int rank, int) { return ring_steps(rank, ranks); }};
}

using Lists = std::vector<std::vector<Step>>;  ///< [rank * lanes + lane]

inline Steps from_list(std::vector<Step> steps) {
  for (const Step& step : steps) co_yield step;
}

/// All steps of a schedule, written out.
inline Lists lists(const Schedule& schedule) {
  Lists all;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      all.emplace_back();
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next()) all.back().push_back(*step);
    }
  return all;
}

/// The schedule with other steps.
inline Schedule with(Schedule schedule, Lists steps) {
  const int lanes = schedule.lanes;
  schedule.steps = [steps = std::move(steps), lanes](int rank, int lane) {
    return from_list(steps[static_cast<std::size_t>(rank * lanes + lane)]);
  };
  return schedule;
}

/// A schedule of written-out steps in one lane.
inline Schedule listed(Collective collective, int parts, Lists steps, int depth = 1) {
  const int ranks = static_cast<int>(steps.size());
  Schedule schedule{.collective = collective,
                    .algorithm = "handmade",
                    .ranks = ranks,
                    .depth = depth,
                    .layout = make_layout(collective, ranks, parts),
                    .phases = {"exchange"}};
  return with(std::move(schedule), std::move(steps));
}

/// The schedule after `change` had its way with the written-out steps.
inline Schedule changed(const Schedule& schedule, const std::function<void(Lists&)>& change) {
  Lists steps = lists(schedule);
  change(steps);
  return with(schedule, std::move(steps));
}

}  // namespace rondo::handmade
