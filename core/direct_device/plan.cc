#include "core/direct_device/plan.h"

#include <algorithm>
#include <string>

#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo::direct_device {
namespace {

constexpr std::size_t aligned = 64;  ///< slices begin at multiples of so many elements
constexpr std::size_t unit = 16;     ///< and parts of a slice of so many

std::size_t part_begin(std::size_t count, int part, int parts) {
  const std::size_t units = (count + unit - 1) / unit;
  const std::size_t begin =
      units * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts) * unit;
  return std::min(begin, count);
}

/// Short blocks end before long ones: in later slices there is nothing of them.
void add(const Run& run, std::vector<Run>& runs) {
  if (run.bytes > 0) runs.push_back(run);
}

/// Whether anything of the source's input comes to the reader's output.
bool reads(const Schedule& promise, int reader, int source) {
  for (int block = 0; block < promise.layout.blocks; ++block) {
    const auto held = expected(promise, reader, block);
    if (held && held->contributes(source)) return true;
  }
  return false;
}

}  // namespace

Plan::Plan(const Call& call, int rank, int ranks, std::size_t half_bytes, Counts counts)
    : call_(call),
      blocks_(partition_of(call, counts, make_layout(call.collective, ranks, 1))),
      rank_(rank),
      ranks_(ranks),
      element_bytes_(size_of(call.type)) {
  if (call.collective == Collective::barrier || call.collective == Collective::send_recv ||
      is_scan(call.collective))
    throw Error(ErrorCode::internal, "no plan between devices for " + to_string(call));
  const Schedule promise{
      .collective = call.collective, .ranks = ranks, .root = call.root, .layout = blocks_.layout()};
  for (int block = 0; block < promise.layout.blocks; ++block) {
    const auto held = expected(promise, rank, block);
    if (!held) continue;
    if (info(call.collective).reduces) {
      reduced_ = block;
    } else {
      moves_.push_back({held->first, held->source_chunk, block});
    }
  }
  for (int hops = 1; hops < ranks; ++hops) {
    if (reads(promise, ahead(hops), rank)) readers_.push_back(ahead(hops));
    if (reads(promise, rank, ahead(hops))) sources_.push_back(ahead(hops));
  }
  std::ranges::stable_sort(moves_, {},
                           [&](const Move& move) { return (move.source - rank + ranks) % ranks; });
  limit_ = largest_slice(half_bytes);
  slices_ = (blocks_.largest_chunk() + limit_ - 1) / limit_;
}

ChunkSpan Plan::held_by(int rank, Buffer buffer) const {
  return held(call_.collective, buffer, blocks_.layout(), rank, call_.root);
}

/// In elements of a block.
std::size_t Plan::largest_slice(std::size_t half_bytes) const {
  const int blocks = held_by(call_.root, Buffer::input).count;  // no rank shows more
  const std::size_t limit = blocks_.longest_slice(blocks, half_bytes / element_bytes_);
  return limit > aligned ? limit - limit % aligned : limit;
}

/// Where a block's range begins in a rank's own buffer, in bytes.
std::size_t Plan::at(Buffer buffer, int rank, int block, const Range& range) const {
  return bytes(blocks_.offset(block) - blocks_.offset(held_by(rank, buffer).first) + range.begin);
}

/// The same in the rank's half, where the ranges of its input's blocks lie one after the other.
std::size_t Plan::shown_at(int rank, int block, const Range& range) const {
  const int first = held_by(rank, Buffer::input).first;
  return bytes(range.blocks.offset(block) - range.blocks.offset(first));
}

Slice Plan::slice(std::size_t index) const {
  const std::size_t begin = index * limit_;
  const std::size_t count = std::min(limit_, blocks_.largest_chunk() - begin);
  const Range range{begin, count, blocks_.range(begin, count)};
  Slice slice{.readers = readers_, .sources = sources_};
  fill(range, slice);
  for (const Move& move : moves_) {
    const std::size_t to = at(Buffer::output, rank_, move.to, range);
    const std::size_t length = size(move.to, range);
    if (length == 0) continue;
    if (move.source != rank_) {
      const std::size_t from = shown_at(move.source, move.from, range);
      slice.pulls.push_back({move.source, {from, to, length}});
    } else {
      slice.own.push_back({at(Buffer::input, rank_, move.from, range), to, length});
    }
  }
  if (reduced_) reduce(range, slice);
  return slice;
}

/// Whole blocks are one run. A block that this rank alone reads is left out, but not where it is
/// reduced: there all operands are shown, as they may have been scaled on the way.
void Plan::fill(const Range& range, Slice& slice) const {
  const bool reduces = info(call_.collective).reduces;
  if (!reduces && readers_.empty()) return;
  const ChunkSpan mine = held_by(rank_, Buffer::input);
  if (mine.count > 1 && range.count == blocks_.largest_chunk())
    return add({0, 0, bytes(range.blocks.elements())}, slice.fill);
  for (int block = mine.first; block < mine.first + mine.count; ++block) {
    if (mine.count > 1 && block == rank_ && !reduces) continue;
    add({at(Buffer::input, rank_, block, range), shown_at(rank_, block, range), size(block, range)},
        slice.fill);
  }
}

void Plan::reduce(const Range& range, Slice& slice) const {
  if (call_.collective == Collective::all_reduce && !is_one_shot(range))
    return reduce_parts(range, slice);
  const std::size_t count = range.blocks.size(*reduced_);
  if (count == 0) return;
  slice.reducing = {shown_at(rank_, *reduced_, range), count,
                    at(Buffer::output, rank_, *reduced_, range)};
}

void Plan::reduce_parts(const Range& range, Slice& slice) const {
  for (int hops = 1; hops <= ranks_; ++hops) {
    const int part = ahead(hops);
    const std::size_t begin = part_begin(range.count, part, ranks_);
    const std::size_t count = part_begin(range.count, part + 1, ranks_) - begin;
    if (count == 0) continue;
    if (part == rank_) slice.reducing = {bytes(begin), count};
    slice.gathers.push_back({part, {bytes(begin), bytes(range.begin + begin), bytes(count)}});
  }
}

}  // namespace rondo::direct_device
