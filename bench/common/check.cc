#include "bench/common/check.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rondo::bench {
namespace {

constexpr std::size_t chunk_elements = 4096;
using Chunk = std::array<std::byte, chunk_elements * sizeof(double)>;

/// In place, the block of the output buffer that holds this rank's input before the call.
bool holds_input(const Layout& layout, int block) {
  return layout.in_place && (!layout.program->output_blocks || block == layout.rank);
}

/// Elements [first, first + count) of output block `block`, which must hold `piece`.
void fill_expected(const Layout& layout, const Pattern& pattern, const Piece& piece, int block,
                   std::size_t first, std::size_t count, std::byte* expected) {
  const auto source_block = static_cast<std::size_t>(piece.block);
  if (piece.source == Piece::Source::reduced) {
    const std::size_t start = begin_of(layout.input_counts(layout.rank), source_block);
    pattern.fill_reduced(expected, start + first, count,
                         piece.ranks == 0 ? layout.ranks : piece.ranks);
  } else if (piece.source == Piece::Source::input) {
    const std::size_t start = begin_of(layout.input_counts(piece.rank), source_block);
    pattern.fill_input(expected, piece.rank, start + first, count);
  } else if (holds_input(layout, block)) {
    pattern.fill_input(expected, layout.rank, first, count);
  } else {
    std::memset(expected, std::to_integer<int>(poison), layout.bytes_of(count));
  }
}

/// Calls visit(first, count) over pieces that fit a Chunk.
template <class Visit>
void for_chunks(std::size_t elements, Visit visit) {
  for (std::size_t first = 0; first < elements; first += chunk_elements) {
    visit(first, std::min(chunk_elements, elements - first));
  }
}

std::size_t wrong_output(const Layout& layout, const Pattern& pattern, const std::byte* output) {
  const std::vector<std::size_t> counts = layout.output_counts(layout.rank);
  std::size_t wrong = 0;
  Chunk expected;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const int block = static_cast<int>(at);
    const Piece piece = layout.program->expected({layout.rank, layout.ranks, layout.root, block});
    const std::byte* actual = output + layout.bytes_of(begin_of(counts, at));
    for_chunks(counts[at], [&](std::size_t first, std::size_t count) {
      fill_expected(layout, pattern, piece, block, first, count, expected.data());
      wrong += count_wrong(layout.type, actual + layout.bytes_of(first), expected.data(), count,
                           pattern.tolerance());
    });
  }
  return wrong;
}

std::size_t changed_input(const Layout& layout, const Pattern& pattern, const std::byte* input) {
  std::size_t wrong = 0;
  Chunk expected;
  for_chunks(layout.shape.input, [&](std::size_t first, std::size_t count) {
    pattern.fill_input(expected.data(), layout.rank, first, count);
    wrong += count_wrong(layout.type, input + layout.bytes_of(first), expected.data(), count, 0);
  });
  return wrong;
}

bool reads_input(const Layout& layout) {
  return layout.program->reads_input({layout.rank, layout.ranks, layout.root, 0});
}

}  // namespace

std::vector<std::size_t> Layout::input_counts(int of) const {
  const auto rank_of = static_cast<std::size_t>(of);
  if (program->exchanges()) return counts_to(shape.counts, rank_of);
  if (program->output_blocks) return {shape.counts[rank_of]};
  return shape.counts;
}

std::vector<std::size_t> Layout::output_counts(int of) const {
  const auto rank_of = static_cast<std::size_t>(of);
  if (program->exchanges()) return counts_from(shape.counts, rank_of);
  if (program->input_blocks) return {shape.counts[rank_of]};
  return shape.counts;
}

std::size_t Layout::input_offset() const {
  const bool own_block = in_place && program->output_blocks && !program->input_blocks;
  return own_block ? bytes_of(begin_of(shape.counts, static_cast<std::size_t>(rank))) : 0;
}

std::size_t Layout::output_offset() const {
  const bool own_block = in_place && program->input_blocks && !program->output_blocks;
  return own_block ? bytes_of(begin_of(shape.counts, static_cast<std::size_t>(rank))) : 0;
}

void prepare_check(const Layout& layout, const Pattern& pattern, Buffer& input, Buffer& output) {
  const std::size_t bytes = layout.shape.bytes;
  std::memset(output.data(), std::to_integer<int>(poison), bytes);
  std::memset(input.data(), std::to_integer<int>(poison), bytes);
  if (reads_input(layout)) {
    std::byte* target = (layout.in_place ? output : input).data() + layout.input_offset();
    pattern.fill_input(target, layout.rank, 0, layout.shape.input);
  }
  input.arm(bytes);
  output.arm(bytes);
}

std::size_t count_errors(const Layout& layout, const Pattern& pattern, const Buffer& input,
                         const Buffer& output) {
  const std::size_t bytes = layout.shape.bytes;
  std::size_t wrong = wrong_output(layout, pattern, output.data() + layout.output_offset());
  if (!layout.in_place && reads_input(layout)) {
    wrong += changed_input(layout, pattern, input.data());
  }
  return wrong + input.trespassed(bytes) + output.trespassed(bytes);
}

}  // namespace rondo::bench
