#include "core/plan/cut.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rondo {
namespace {

struct Row {
  Flow flow;
  std::size_t frame_bytes;
  std::size_t interleaved;
};
constexpr Row rows[] = {
    {Flow::stream, shortest_frame_bytes, 1},
    {Flow::ring, 4 * shortest_frame_bytes, 2},
    {Flow::rounds, shortest_frame_bytes, 8},
};

/// Of thousands of ranks, so many are looked at. It is the same choice on every rank, and a matter of
/// speed only.
constexpr int most_looked_at = 64;

/// One lane of one rank.
Flow flow_of(Steps steps) {
  std::map<int, int> messages;  // by peer
  int own = 0;
  bool forwards = false;
  int most = 0;
  while (const Step* step = steps.next()) {
    if (step->kind != StepKind::send) continue;
    forwards |= step->from.buffer != Buffer::input;
    own += step->from.buffer == Buffer::input ? 1 : 0;
    most = std::max(most, ++messages[step->peer]);
  }
  if (!forwards) return Flow::exchange;
  if (most < 2) return Flow::stream;
  if (messages.size() > 1) return Flow::rounds;
  return own > 1 ? Flow::exchange : Flow::ring;  // two streams, e.g. of half chunks
}

}  // namespace

Flow flow_of(const Schedule& schedule) {
  Flow flow = Flow::exchange;
  const int apart = std::max(1, schedule.ranks / most_looked_at);
  for (int rank = 0; rank < schedule.ranks && flow != Flow::rounds; rank += apart) {
    for (int lane = 0; lane < schedule.lanes; ++lane)
      flow = std::max(flow, flow_of(schedule.steps(rank, lane)));
  }
  return flow;
}

Cut cut_for_wires(Flow flow, std::size_t frame_bytes, int short_frames) {
  const Row* const row = std::ranges::find(rows, flow, &Row::flow);
  if (row == std::end(rows)) return {.frame_bytes = frame_bytes};
  const std::size_t cut = std::min(frame_bytes, row->frame_bytes);
  const std::size_t longer = std::max<std::size_t>(1, cut / shortest_frame_bytes);
  const std::size_t held = static_cast<std::size_t>(short_frames) / longer / depth_of_a_pass;
  const std::size_t interleaved = std::min(row->interleaved, held);
  if (row->interleaved > 1 && interleaved < 2) return {.frame_bytes = frame_bytes};
  return {.frame_bytes = cut,
          .interleaved = static_cast<std::uint32_t>(interleaved > 1 ? interleaved : 1),
          .worth_bytes = shortest_frame_bytes};
}

}  // namespace rondo
