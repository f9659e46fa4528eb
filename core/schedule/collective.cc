#include "core/schedule/collective.h"

#include <string>

#include "rondo/error.h"

namespace rondo {

std::optional<Expectation> expected(const Schedule& schedule, int rank, int output_chunk) {
  const ChunkSpan span =
      held(schedule.collective, Buffer::output, schedule.layout, rank, schedule.root);
  if (output_chunk < span.first || output_chunk >= span.first + span.count) return std::nullopt;
  const int block = output_chunk / schedule.layout.parts;
  const int part = output_chunk % schedule.layout.parts;
  switch (schedule.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce:
    case Collective::barrier:
      return Expectation{output_chunk, 0, schedule.ranks};
    case Collective::scan:
      return Expectation{output_chunk, 0, rank + 1};
    case Collective::exclusive_scan:
      return Expectation{output_chunk, 0, rank};
    case Collective::all_gather:
    case Collective::gather:
      return Expectation{output_chunk, block};
    case Collective::broadcast:
    case Collective::scatter:
      return Expectation{output_chunk, schedule.root};
    case Collective::all_to_all:
      return Expectation{rank * schedule.layout.parts + part, block};
    case Collective::send_recv:
      if (rank != send_recv_receiver(schedule.root, schedule.ranks)) return std::nullopt;
      return Expectation{output_chunk, schedule.root};
  }
  return std::nullopt;
}

bool holds(const Schedule& schedule, int rank, const Chunk& run) {
  const ChunkSpan span =
      held(schedule.collective, run.buffer, schedule.layout, rank, schedule.root);
  const int chunks = schedule.layout.chunks();
  if (span.count == chunks) return true;
  const auto first = static_cast<int>(run.first);
  return first >= span.first && first + static_cast<int>(run.count) <= span.first + span.count;
}

void check_header(const Schedule& schedule) {
  const auto reject = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "schedule: " + what);
  };
  if (schedule.ranks < 1) reject("ranks is " + std::to_string(schedule.ranks) + ", must be >= 1");
  if (schedule.root < 0 || schedule.root >= schedule.ranks)
    reject("root " + std::to_string(schedule.root) + " is not one of ranks 0 to " +
           std::to_string(schedule.ranks - 1));
  if (schedule.lanes < 1 || schedule.lanes > 65535)
    reject("lanes is " + std::to_string(schedule.lanes) + ", must be 1 to 65535");
  if (schedule.depth < 1) reject("depth is " + std::to_string(schedule.depth) + ", must be >= 1");
  const int blocks = make_layout(schedule.collective, schedule.ranks, 1).blocks;
  if (schedule.layout.blocks != blocks || schedule.layout.parts < 1)
    reject("a layout of " + std::to_string(schedule.layout.blocks) + " blocks x " +
           std::to_string(schedule.layout.parts) + " parts, but " +
           std::string(name(schedule.collective)) + " over " + std::to_string(schedule.ranks) +
           " ranks has " + std::to_string(blocks) + " block(s) of at least 1 part");
}

}  // namespace rondo
