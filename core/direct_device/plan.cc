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

}  // namespace

Plan::Plan(const Call& call, int rank, int ranks, std::size_t half_bytes)
    : call_(call), rank_(rank), ranks_(ranks), element_bytes_(size_of(call.type)) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) peers_.push_back(peer);
  }
  const auto blocks = static_cast<std::size_t>(blocks_in_half(call.collective, ranks));
  limit_ = half_bytes / (blocks * element_bytes_);
  if (limit_ > aligned) limit_ -= limit_ % aligned;
  slices_ = (call.count + limit_ - 1) / limit_;
}

Slice Plan::slice(std::size_t index) const {
  const std::size_t begin = index * limit_;
  const Range range{begin, std::min<std::size_t>(limit_, call_.count - begin)};
  Slice slice;
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

/// Of a block's range in a user's buffer, in bytes.
std::size_t Plan::at(int block, const Range& range) const {
  return bytes(static_cast<std::size_t>(block) * call_.count + range.begin);
}

/// The same in a half: ranges of blocks lie one behind the other.
std::size_t Plan::in_half(int block, const Range& range) const {
  return bytes(static_cast<std::size_t>(block) * range.count);
}

Run Plan::block_to_half(int block, const Range& range) const {
  return {at(block, range), in_half(block, range), bytes(range.count)};
}

/// Whole blocks are one run.
void Plan::fill_all_blocks(const Range& range, bool with_own, Slice& slice) const {
  slice.readers = peers_;
  if (range.count == call_.count) {
    slice.fill = {{0, 0, bytes(static_cast<std::size_t>(ranks_) * range.count)}};
    return;
  }
  for (int block = 0; block < ranks_; ++block) {
    if (with_own || block != rank_) slice.fill.push_back(block_to_half(block, range));
  }
}

/// `from` and `to`: blocks of the input and the output.
void Plan::keep_own(int from, int to, const Range& range, Slice& slice) const {
  slice.own = {{at(from, range), at(to, range), bytes(range.count)}};
}

/// `from`: block of the source's half. `to`: of the output.
void Plan::pull(int source, int from, int to, const Range& range, Slice& slice) const {
  slice.sources.push_back(source);
  slice.pulls.push_back({source, {in_half(from, range), at(to, range), bytes(range.count)}});
}

void Plan::all_reduce(const Range& range, Slice& slice) const {
  slice.fill = {block_to_half(0, range)};
  slice.readers = peers_;
  slice.sources = peers_;
  if (bytes(range.count) <= most_one_shot_bytes) {
    slice.reducing = {.place = 0, .count = range.count, .output = at(0, range)};
    return;
  }
  for (int part = 0; part < ranks_; ++part) {
    const std::size_t begin = part_begin(range.count, part, ranks_);
    const std::size_t count = part_begin(range.count, part + 1, ranks_) - begin;
    if (count == 0) continue;
    if (part == rank_) slice.reducing = {.place = bytes(begin), .count = count};
    slice.gathers.push_back({part, {bytes(begin), at(0, range) + bytes(begin), bytes(count)}});
  }
}

void Plan::reduce_scatter(const Range& range, Slice& slice) const {
  fill_all_blocks(range, true, slice);
  slice.sources = peers_;
  slice.reducing = {.place = in_half(rank_, range), .count = range.count, .output = at(0, range)};
}

void Plan::all_gather(const Range& range, Slice& slice) const {
  slice.fill = {block_to_half(0, range)};
  slice.readers = peers_;
  keep_own(0, rank_, range, slice);
  for (const int peer : peers_) pull(peer, 0, peer, range, slice);
}

void Plan::broadcast(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) return pull(call_.root, 0, 0, range, slice);
  slice.fill = {block_to_half(0, range)};
  slice.readers = peers_;
  keep_own(0, 0, range, slice);
}

/// The root's own contribution lies in its half, too, as it may have been scaled on the way.
void Plan::reduce(const Range& range, Slice& slice) const {
  slice.fill = {block_to_half(0, range)};
  if (rank_ != call_.root) {
    slice.readers = {call_.root};
    return;
  }
  slice.sources = peers_;
  slice.reducing = {.place = 0, .count = range.count, .output = at(0, range)};
}

void Plan::all_to_all(const Range& range, Slice& slice) const {
  fill_all_blocks(range, false, slice);
  keep_own(rank_, rank_, range, slice);
  for (const int peer : peers_) pull(peer, rank_, peer, range, slice);
}

void Plan::scatter(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) return pull(call_.root, rank_, 0, range, slice);
  fill_all_blocks(range, false, slice);
  keep_own(rank_, 0, range, slice);
}

void Plan::gather(const Range& range, Slice& slice) const {
  if (rank_ != call_.root) {
    slice.fill = {block_to_half(0, range)};
    slice.readers = {call_.root};
    return;
  }
  keep_own(0, rank_, range, slice);
  for (const int peer : peers_) pull(peer, 0, peer, range, slice);
}

}  // namespace rondo::direct_device
