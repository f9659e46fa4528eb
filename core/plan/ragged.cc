#include "core/plan/ragged.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace rondo {
namespace {

/// Never the value of equal blocks, nor that of messages between pairs.
std::uint64_t proper(std::uint64_t mixed) {
  return mixed > between_pairs ? mixed : between_pairs + 1;
}

std::uint64_t mix(std::uint64_t mixed, std::uint64_t value) {
  mixed = (mixed ^ value) * 0x9e3779b97f4a7c15ULL;
  return mixed ^ mixed >> 29;
}

}  // namespace

Shaped shape(Call call, Counts counts) {
  const bool equal = std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end();
  call.blocks = 0;
  if (equal) {
    call.count = counts.empty() ? 0 : counts.front();
    return {call, {}};
  }
  call.count = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  call.blocks =
      proper(std::accumulate(counts.begin(), counts.end(), std::uint64_t{counts.size()}, mix));
  return {call, counts};
}

void mark_as_part(Call& part, const Call& whole, std::size_t number) {
  part.blocks = proper(mix(whole.blocks, number + 1));
}

Partition partition_of(const Call& call, Counts counts, const Layout& layout) {
  return counts.empty() ? Partition(layout, call.count, element_bytes(call))
                        : Partition(layout, counts, element_bytes(call));
}

HeldElements held_elements(const Call& call, Counts counts, Buffer buffer, int rank, int ranks) {
  const Layout layout = make_layout(call.collective, ranks, 1);
  const Partition partition = partition_of(call, counts, layout);
  const ChunkSpan span = held(call.collective, buffer, layout, rank, call.root);
  const std::size_t begin = partition.offset(span.first);
  return {begin, partition.offset(span.first + span.count) - begin};
}

}  // namespace rondo
