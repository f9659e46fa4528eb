#include "core/schedule/layout.h"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t elements_of_a_line(std::size_t element_bytes) {
  return std::max<std::size_t>(1, cache_line / element_bytes);
}

}  // namespace

Parts even_parts(std::size_t count, int parts, std::size_t element_bytes) {
  return Parts::of(count, static_cast<std::uint32_t>(parts), elements_of_a_line(element_bytes));
}

ChunkSpan held(Collective collective, Buffer buffer, Layout layout, int rank, int root) {
  const ChunkSpan all{0, layout.chunks()};
  const ChunkSpan own{rank * layout.parts, layout.parts};
  const ChunkSpan none{};
  const bool reads = buffer == Buffer::input;
  if (buffer == Buffer::scratch) return all;
  switch (collective) {
    case Collective::all_reduce:
    case Collective::scan:
    case Collective::all_to_all:
    case Collective::barrier:
      return all;
    case Collective::reduce_scatter:
      return reads ? all : own;
    case Collective::all_gather:
      return reads ? own : all;
    case Collective::broadcast:
      return reads && rank != root ? none : all;
    case Collective::exclusive_scan:
      return !reads && rank == 0 ? none : all;
    case Collective::reduce:
      return !reads && rank != root ? none : all;
    case Collective::scatter:
      return !reads ? own : rank == root ? all : none;
    case Collective::gather:
      return reads ? own : rank == root ? all : none;
    case Collective::send_recv:
      return reads == (rank == root) ? all : none;
  }
  return none;
}

Partition::Partition(Layout layout, std::size_t count, std::size_t element_bytes)
    : layout_(layout), count_(count), unit_(elements_of_a_line(element_bytes)) {}

Partition::Partition(Layout layout, std::span<const std::size_t> counts, std::size_t element_bytes)
    : Partition(layout, std::size_t{0}, element_bytes) {
  offsets_.resize(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), offsets_.begin() + 1);
}

Partition Partition::range(std::size_t begin, std::size_t count) const {
  const auto within = [&](std::size_t size) {
    return std::min(size - std::min(size, begin), count);
  };
  Partition part = *this;
  part.count_ = within(count_);
  for (std::size_t block = 1; block < offsets_.size(); ++block)
    part.offsets_[block] = part.offsets_[block - 1] + within(offsets_[block] - offsets_[block - 1]);
  return part;
}

std::size_t Partition::block_offset(int block) const {
  return offsets_.empty() ? count_ * static_cast<std::size_t>(block)
                          : offsets_[static_cast<std::size_t>(block)];
}

std::size_t Partition::offset(int chunk) const {
  const int block = chunk / layout_.parts;
  const auto part = static_cast<std::uint32_t>(chunk % layout_.parts);
  const std::size_t begin = block_offset(block);
  if (part == 0) return begin;
  return begin + Parts::of(block_offset(block + 1) - begin,
                           static_cast<std::uint32_t>(layout_.parts), unit_)
                     .begin(part);
}

std::size_t Partition::size(const Chunk& run) const {
  const int chunks = layout_.chunks();
  const auto first = static_cast<int>(run.first);
  const int last = first + static_cast<int>(run.count);
  if (last <= chunks) return offset(last) - offset(first);
  return elements() - offset(first) + offset(last - chunks);
}

std::size_t Partition::largest_chunk() const {
  std::size_t largest = 0;
  for (int chunk = 0; chunk < layout_.chunks(); ++chunk) largest = std::max(largest, size(chunk));
  return largest;
}

std::size_t Partition::longest_slice(int run, std::size_t elements) const {
  const std::size_t even = elements / static_cast<std::size_t>(run);
  if (!is_ragged()) return even;
  const int chunks = layout_.chunks();
  const auto fits = [&](std::size_t slice) {
    const auto part = [&](int chunk) { return std::min(size(chunk % chunks), slice); };
    std::size_t together = 0;
    for (int chunk = 0; chunk < run; ++chunk) together += part(chunk);
    for (int first = 0; first < chunks && together <= elements; ++first)
      together += part(first + run) - part(first);
    return together <= elements;
  };
  // `least` fits, `beyond` does not.
  std::size_t least = even;
  std::size_t beyond = elements + 1;
  while (beyond - least > 1) {
    const std::size_t middle = least + (beyond - least) / 2;
    (fits(middle) ? least : beyond) = middle;
  }
  return least;
}

}  // namespace rondo
