#include "core/direct_device/plan.h"

#include <algorithm>
#include <string>

#include "core/resident/form.h"
#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo::direct_device {
namespace {

constexpr std::size_t aligned = 64;  ///< slices begin at multiples of so many elements

/// A run that goes on where the one before it ends becomes a part of that. Short blocks end before
/// long ones: in later slices there is nothing of them.
void append(const Run& run, std::vector<Run>& runs) {
  if (run.bytes == 0) return;
  if (!runs.empty() && runs.back().from + runs.back().bytes == run.from &&
      runs.back().to + runs.back().bytes == run.to) {
    runs.back().bytes += run.bytes;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

Plan::Plan(const Call& call, Counts counts, std::shared_ptr<const SharedPlan> lowered, int rank,
           int ranks, std::size_t half_bytes)
    : call_(call),
      lowered_(std::move(lowered)),
      chunks_(partition_of(call, counts, lowered_->layout)),
      rank_(rank),
      element_bytes_(size_of(call.type)) {
  for (const Use& use : program().uses)
    if (use.chunk.buffer == Buffer::input) shown_.insert(static_cast<int>(use.chunk.first));
  for (const Op& op : program().ops)
    if (op.operands > 1) shown_.insert(static_cast<int>(op.extent.first));
  for (int hops = 1; hops < ranks; ++hops) {
    const int peer = (rank + hops) % ranks;
    const auto is_of_peer = [&](const Operand& operand) { return operand.peer == peer; };
    if (std::ranges::count(program().uses, peer, &Use::rank) > 0) readers_.push_back(peer);
    if (std::ranges::any_of(program().operands, is_of_peer)) sources_.push_back(peer);
  }
  const Partition blocks = partition_of(call, counts, make_layout(call.collective, ranks, 1));
  // No rank shows more than the root.
  const int held_blocks = held_by(call.root, Buffer::input).count / lowered_->layout.parts;
  limit_ = blocks.longest_slice(held_blocks, half_bytes / element_bytes_);
  if (limit_ > aligned) limit_ -= limit_ % aligned;
  slices_ = (blocks.largest_chunk() + limit_ - 1) / limit_;
}

ChunkSpan Plan::held_by(int rank, Buffer buffer) const {
  return held(call_.collective, buffer, chunks_.layout(), rank, call_.root);
}

/// Where a chunk's range begins in this rank's own buffer, in bytes.
std::size_t Plan::at(Buffer buffer, int chunk, const Range& range) const {
  const int first = held_by(rank_, buffer).first;
  const int block = chunk - chunk % chunks_.layout().parts;
  return bytes(chunks_.offset(block) - chunks_.offset(first) + range.begin +
               range.chunks.offset(chunk) - range.chunks.offset(block));
}

/// The same in a rank's half, where the ranges of its input's chunks lie one after the other.
std::size_t Plan::shown_at(int rank, int chunk, const Range& range) const {
  const int first = held_by(rank, Buffer::input).first;
  return bytes(range.chunks.offset(chunk) - range.chunks.offset(first));
}

Slice Plan::slice(std::size_t index) const {
  const std::size_t begin = index * limit_;
  const Range range{begin, chunks_.range(begin, limit_)};
  Slice slice{.readers = readers_, .sources = sources_};
  fill(range, slice);
  for (const Op& op : program().ops) add(op, range, slice);
  return slice;
}

/// What nobody uses is left out, unless all is one run.
void Plan::fill(const Range& range, Slice& slice) const {
  if (shown_.empty()) return;
  const ChunkSpan mine = held_by(rank_, Buffer::input);
  for (int chunk = mine.first; chunk < mine.first + mine.count; ++chunk) {
    if (slices_ > 1 && !shown_.contains(chunk)) continue;
    append({at(Buffer::input, chunk, range), shown_at(rank_, chunk, range), size(chunk, range)},
           slice.fill);
  }
}

void Plan::add(const Op& op, const Range& range, Slice& slice) const {
  const Operand& operand = program().operands_of(op).front();
  const int from = static_cast<int>(operand.chunk.first);
  const int to = static_cast<int>(op.into.first);
  const std::size_t length = size(to, range);
  if (length == 0) return;
  const std::size_t output = at(Buffer::output, to, range);
  if (op.operands > 1) {
    const std::size_t place = shown_at(rank_, from, range);
    slice.reducing = {.place = place, .count = range.chunks.size(to)};
    if (op.shown) {
      slice.gathers.push_back({rank_, {place, output, length}});
    } else {
      slice.reducing->to = output;
    }
  } else if (operand.is_local()) {
    slice.own.push_back({at(Buffer::input, from, range), output, length});
  } else {
    std::vector<Pull>& pulls = op.stage == 0 ? slice.pulls : slice.gathers;
    pulls.push_back({operand.peer, {shown_at(operand.peer, from, range), output, length}});
  }
}

Plan Planner::plan(const Call& call, Counts counts) {
  if (call.collective == Collective::barrier || call.collective == Collective::send_recv ||
      is_scan(call.collective))
    throw Error(ErrorCode::internal, "no plan between devices for " + to_string(call));
  const bool one_shot = call.collective == Collective::all_reduce &&
                        call.count * size_of(call.type) <= most_one_shot_bytes;
  SharedPlans& programs =
      programs_.try_emplace({call.collective, call.root}, call.collective, ranks_, call.root, rank_)
          .first->second;
  auto lowered = programs.of(one_shot ? "one_shot" : resident::default_algorithm(call.collective),
                             {.places = Places::copies});
  return {call, counts, std::move(lowered), rank_, ranks_, half_bytes_};
}

}  // namespace rondo::direct_device
