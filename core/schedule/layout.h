// Layout: how a collective's elements are cut into numbered chunks.
//
//   block 0            block 1
//   [0 | 1 | .. | k-1] [k | k+1 | .. ] ...
//
// One block of N for all_reduce, broadcast, reduce and scans; one block per rank for all others.
// chunk = block * parts + part; parts split a block as evenly as alignment allows.
//
// Block sizes may differ from block to block (ragged); parts of a block differ by rounding only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/schedule/parts.h"
#include "core/schedule/step.h"
#include "rondo/types.h"

namespace rondo {

struct Layout {
  int blocks = 1;
  int parts = 1;

  int chunks() const { return blocks * parts; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// True where the index space is one vector of N elements rather than a block per rank.
constexpr bool is_vector(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::broadcast ||
         collective == Collective::reduce || collective == Collective::scan ||
         collective == Collective::exclusive_scan || collective == Collective::barrier ||
         collective == Collective::send_recv;
}

/// The layout of a collective over `ranks` ranks whose blocks are cut into `parts`.
constexpr Layout make_layout(Collective collective, int ranks, int parts) {
  return {is_vector(collective) ? 1 : ranks, parts};
}

/// A run of whole chunks, never wrapping. Empty: count 0.
struct ChunkSpan {
  int first = 0;
  int count = 0;
};

/// Which chunks the user's buffer holds on a rank. Its memory begins at the first of them.
/// E.g. reduce_scatter: input holds all chunks, output those of the rank's own block.
ChunkSpan held(Collective collective, Buffer buffer, Layout layout, int rank, int root);

/// The parts of a block of `count` elements, as Partition has them.
Parts even_parts(std::size_t count, int parts, std::size_t element_bytes);

/// A layout with element counts: where each chunk lies, in elements from the index space's start.
/// Value type. Uniform blocks cost no memory; ragged ones keep one offset per block.
class Partition {
 public:
  /// Every block has `count` elements.
  Partition(Layout layout, std::size_t count, std::size_t element_bytes);
  /// Block b has counts[b] elements; counts.size() == layout.blocks.
  Partition(Layout layout, std::span<const std::size_t> counts, std::size_t element_bytes);

  /// The same range of every block, elements [begin, begin + count), as far as the block has them.
  Partition range(std::size_t begin, std::size_t count) const;

  const Layout& layout() const { return layout_; }
  /// First element of `chunk`; chunk == chunks() gives the end of the index space.
  std::size_t offset(int chunk) const;
  std::size_t size(int chunk) const { return offset(chunk + 1) - offset(chunk); }
  std::size_t elements() const { return offset(layout_.chunks()); }
  /// Elements of a chunk run, wrapping included.
  std::size_t size(const Chunk& run) const;
  std::size_t largest_chunk() const;
  /// The slice size for frames of `elements`: the most first elements of each chunk such that any
  /// `run` chunks in a row, wrapping included, have no more than `elements` together. Equal blocks:
  /// elements / run. Ragged ones: at least that, as the short ones leave room.
  std::size_t longest_slice(int run, std::size_t elements) const;

 private:
  bool is_ragged() const { return !offsets_.empty(); }
  std::size_t block_offset(int block) const;

  Layout layout_;
  std::size_t count_;                 ///< per block when uniform
  std::size_t unit_;                  ///< parts begin at multiples of this many elements
  std::vector<std::size_t> offsets_;  ///< blocks + 1 entries when ragged, else empty
};

}  // namespace rondo
