#include "core/direct_device/plan.h"

#include <algorithm>
#include <string>

#include "rondo/error.h"

namespace rondo::direct_device {
namespace {

constexpr std::size_t aligned = 64;  ///< slices begin at multiples of so many elements
constexpr std::size_t unit = 16;     ///< and parts of a slice of so many

/// How many blocks a half holds at most.
int blocks_in_half(Collective collective, int ranks) {
  const bool all = collective == Collective::reduce_scatter ||
                   collective == Collective::all_to_all || collective == Collective::scatter;
  return all ? ranks : 1;
}

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

void add(const Pull& pull, std::vector<Pull>& pulls) {
  if (pull.run.bytes > 0) pulls.push_back(pull);
}

}  // namespace

Plan::Plan(const Call& call, int rank, int ranks, std::size_t half_bytes, InPlace in_place,
           bool overlap, Counts counts)
    : call_(call),
      blocks_(partition_of(call, counts, make_layout(call.collective, ranks, 1))),
      rank_(rank),
      own_block_(is_vector(call.collective) ? 0 : rank),
      ranks_(ranks),
      element_bytes_(size_of(call.type)),
      in_place_(in_place),
      overlap_(overlap) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) peers_.push_back(peer);
  }
  limit_ = largest_slice(half_bytes);
  slices_ = (blocks_.largest_chunk() + limit_ - 1) / limit_;
}

/// In elements of a block.
std::size_t Plan::largest_slice(std::size_t half_bytes) const {
  if (shows_buffers()) {
    if (call_.collective != Collective::all_reduce || in_place_.output)
      return blocks_.largest_chunk();
    // Parts must fit halves.
    const std::size_t part = half_bytes / element_bytes_;
    return static_cast<std::size_t>(ranks_) * (part > unit ? part - part % unit : part);
  }
  const std::size_t limit =
      blocks_.longest_slice(blocks_in_half(call_.collective, ranks_), half_bytes / element_bytes_);
  return limit > aligned ? limit - limit % aligned : limit;
}

Slice Plan::slice(std::size_t index) const {
  const std::size_t begin = index * limit_;
  const std::size_t count = std::min(limit_, blocks_.largest_chunk() - begin);
  const Range range{begin, count, blocks_.range(begin, count)};
  Slice slice;
  if (shows_buffers()) {
    slice_of_buffers(range, slice);
    return slice;
  }
  switch (call_.collective) {
    case Collective::all_reduce:
      all_reduce(range, slice);
      return slice;
    case Collective::reduce_scatter:
      reduce_scatter(range, slice);
      return slice;
    case Collective::all_gather:
      all_gather(range, slice);
      return slice;
    case Collective::broadcast:
      broadcast(range, slice);
      return slice;
    case Collective::reduce:
      reduce(range, slice);
      return slice;
    case Collective::all_to_all:
      all_to_all(range, slice);
      return slice;
    case Collective::scatter:
      scatter(range, slice);
      return slice;
    case Collective::gather:
      gather(range, slice);
      return slice;
    case Collective::barrier:
    case Collective::send_recv:
      break;
  }
  throw Error(ErrorCode::internal, "no plan between devices for " + to_string(call_));
}

/// Where a block's range begins in a user's buffer, in bytes.
std::size_t Plan::at(int block, const Range& range) const {
  return bytes(blocks_.offset(block) + range.begin);
}

/// The same in a half, where the ranges of blocks lie one after the other.
std::size_t Plan::in_half(int block, const Range& range) const {
  return bytes(range.blocks.offset(block));
}

/// A buffer of one block begins with it, and so does its half.
void Plan::fill_own_block(const Range& range, Slice& slice) const {
  add({at(0, range), 0, size(own_block_, range)}, slice.fill);
}

/// Whole blocks are one run.
void Plan::fill_all_blocks(const Range& range, bool with_own, Slice& slice) const {
  slice.readers = peers_;
  if (range.count == blocks_.largest_chunk())
    return add({0, 0, bytes(range.blocks.elements())}, slice.fill);
  for (int block = 0; block < ranks_; ++block) {
    if (with_own || block != rank_)
      add({at(block, range), in_half(block, range), size(block, range)}, slice.fill);
  }
}

/// `from` and `to`: blocks of the input and the output.
void Plan::keep_own(int from, int to, const Range& range, Slice& slice) const {
  add({at(from, range), at(to, range), size(own_block_, range)}, slice.own);
}

/// Called whatever there is to read: ranks with nothing to show are waited for as well.
void Plan::pull(int source, const Run& run, Slice& slice) const {
  slice.sources.push_back(source);
  if (run.bytes > 0) slice.pulls.push_back({source, run});
}

void Plan::all_reduce(const Range& range, Slice& slice) const {
  fill_own_block(range, slice);
  slice.readers = peers_;
  slice.sources = peers_;
  if (!is_one_shot(range)) return reduce_parts(range, slice);
  slice.reducing = {.count = range.count, .target = Where::output, .at = at(0, range)};
}

/// Each part goes to the same place of the own half, or of the output. Where inputs are read and
/// outputs are not, it goes to the beginning of the half.
void Plan::reduce_parts(const Range& range, Slice& slice) const {
  slice.reduced = in_place_.output ? Where::output : Where::half;
  const std::size_t first = in_place_.input ? at(0, range) : 0;
  for (int part = 0; part < ranks_; ++part) {
    const std::size_t begin = part_begin(range.count, part, ranks_);
    const std::size_t count = part_begin(range.count, part + 1, ranks_) - begin;
    if (count == 0) continue;
    const std::size_t shown = first + bytes(begin);
    const std::size_t target =
        slice.shown == Where::input && slice.reduced == Where::half ? 0 : shown;
    if (part == rank_) slice.reducing = {shown, count, slice.reduced, target};
    if (part == rank_ && slice.reduced == Where::output) continue;
    slice.gathers.push_back({part, {target, at(0, range) + bytes(begin), bytes(count)}});
  }
}

void Plan::all_reduce_buffers(const Range& range, Slice& slice) const {
  if (!is_one_shot(range)) return reduce_parts(range, slice);
  slice.reducing = {at(0, range), range.count, Where::output, at(0, range)};
  if (!overlap_) return;
  slice.reducing->target = Where::half;
  slice.reducing->at = 0;
  slice.late = {{0, at(0, range), bytes(range.count)}};
}

void Plan::slice_of_buffers(const Range& range, Slice& slice) const {
  slice.shown = in_place_.input ? Where::input : Where::output;
  slice.readers = peers_;
  slice.sources = peers_;
  switch (call_.collective) {
    case Collective::all_reduce:
      return all_reduce_buffers(range, slice);
    case Collective::reduce_scatter:
      return reduce_own_block(at(rank_, range), range, slice);
    case Collective::all_gather:
      add({at(0, range), at(rank_, range), size(rank_, range)}, slice.fill);
      for (const int peer : peers_)
        add({peer, {at(peer, range), at(peer, range), size(peer, range)}}, slice.pulls);
      return;
    case Collective::all_to_all:
      keep_own(rank_, rank_, range, slice);
      for (const int peer : peers_)
        slice.pulls.push_back({peer, {at(rank_, range), at(peer, range), size(peer, range)}});
      return;
    default:
      throw Error(ErrorCode::internal, "no plan between buffers for " + to_string(call_));
  }
}

/// `place`: where it lies in what every rank shows.
void Plan::reduce_own_block(std::size_t place, const Range& range, Slice& slice) const {
  const std::size_t count = range.blocks.size(rank_);
  if (count > 0) slice.reducing = {place, count, Where::output, at(0, range)};
}

void Plan::reduce_scatter(const Range& range, Slice& slice) const {
  fill_all_blocks(range, true, slice);
  slice.sources = peers_;
  reduce_own_block(in_half(rank_, range), range, slice);
}

void Plan::all_gather(const Range& range, Slice& slice) const {
  fill_own_block(range, slice);
  slice.readers = peers_;
  keep_own(0, rank_, range, slice);
  for (const int peer : peers_) pull(peer, {0, at(peer, range), size(peer, range)}, slice);
}

void Plan::broadcast(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) return pull(call_.root, {0, at(0, range), size(0, range)}, slice);
  fill_own_block(range, slice);
  slice.readers = peers_;
  keep_own(0, 0, range, slice);
}

/// The root's own contribution lies in its half, too, as it may have been scaled on the way.
void Plan::reduce(const Range& range, Slice& slice) const {
  fill_own_block(range, slice);
  if (rank_ != call_.root) {
    slice.readers = {call_.root};
    return;
  }
  slice.sources = peers_;
  slice.reducing = {.count = range.count, .target = Where::output, .at = at(0, range)};
}

void Plan::all_to_all(const Range& range, Slice& slice) const {
  fill_all_blocks(range, false, slice);
  keep_own(rank_, rank_, range, slice);
  for (const int peer : peers_)
    pull(peer, {in_half(rank_, range), at(peer, range), size(peer, range)}, slice);
}

void Plan::scatter(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) {
    const Run run{in_half(rank_, range), at(0, range), size(rank_, range)};
    return pull(call_.root, run, slice);
  }
  fill_all_blocks(range, false, slice);
  keep_own(rank_, 0, range, slice);
}

void Plan::gather(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) {
    fill_own_block(range, slice);
    slice.readers = {call_.root};
    return;
  }
  keep_own(0, rank_, range, slice);
  for (const int peer : peers_) pull(peer, {0, at(peer, range), size(peer, range)}, slice);
}

}  // namespace rondo::direct_device
