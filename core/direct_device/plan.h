// Plan: what one rank does in a collective between devices. Which bytes does it show to others in
// its half of the staging heap, which of theirs does it read, and what does it reduce? These are
// only numbers: no pointers, no CUDA.
//
// What comes from where is what the collective promises (core/schedule/collective.h).
//
// A call is cut into slices. A slice is the same collective on the same range of every block, as
// much as fits half of the staging heap. Blocks that differ in size take part as far as each has
// the range.
// - Each rank fills its half with the slice of its input. Ranks that need it read it from there,
//   straight into their output or as an operand of a reduction.
// - Large all-reduces take two steps. Each rank reduces its part of the slice, in place in its own
//   half. Then all ranks read the parts of all others.
// - Each rank reads from the next one first, then from the one after that: at no time do all read from
//   the same one, whose link they would share.
// - Every rank cuts alike, because the cuts depend on nothing but the call.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan/ragged.h"

namespace rondo::direct_device {

/// Bytes from one buffer to another one.
struct Run {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t bytes = 0;
};

/// The same from a rank's half to the output.
struct Pull {
  int rank = 0;
  Run run{};
};

/// Combines the elements at the same place of every rank's half, in the order of ranks.
struct Reducing {
  std::size_t place = 0;  ///< in bytes
  std::size_t count = 0;
  std::optional<std::size_t> to{};  ///< in bytes of the output; none: in place
};

/// One slice, on one rank. Peers are other ranks.
struct Slice {
  std::vector<Run> fill{};             ///< input to the own half
  std::vector<int> readers{};          ///< peers that read that
  std::vector<int> sources{};          ///< peers whose halves it reads
  std::vector<Run> own{};              ///< input to output
  std::vector<Pull> pulls{};           ///< when the sources have filled theirs
  std::optional<Reducing> reducing{};  ///< then
  std::vector<Pull> gathers{};         ///< of parts, when the sources have reduced; own ones, too
};

class Plan {
 public:
  /// Up to so many bytes every rank reduces all of an all-reduce by itself: one exchange of
  /// signals.
  static constexpr std::size_t most_one_shot_bytes = std::size_t{64} << 10;

  /// `call` is a collective, not barrier, of at least one element, in a communicator of at least 2
  /// ranks; a half holds at least one element of each block.
  /// `counts`: of blocks that differ in size.
  Plan(const Call& call, int rank, int ranks, std::size_t half_bytes, Counts counts = {});

  std::size_t slices() const { return slices_; }
  Slice slice(std::size_t index) const;

 private:
  /// What a slice has of each block, in elements.
  struct Range {
    std::size_t begin;
    std::size_t count;  ///< at most
    Partition blocks;   ///< one after the other
  };
  /// A block that comes to this rank's output as it is: from a rank's input.
  struct Move {
    int source;
    int from;
    int to;
  };

  int ahead(int hops) const { return (rank_ + hops) % ranks_; }
  std::size_t bytes(std::size_t elements) const { return elements * element_bytes_; }
  std::size_t size(int block, const Range& range) const { return bytes(range.blocks.size(block)); }
  ChunkSpan held_by(int rank, Buffer buffer) const;
  std::size_t at(Buffer buffer, int rank, int block, const Range& range) const;
  std::size_t shown_at(int rank, int block, const Range& range) const;
  std::size_t largest_slice(std::size_t half_bytes) const;
  bool is_one_shot(const Range& range) const { return bytes(range.count) <= most_one_shot_bytes; }
  void fill(const Range& range, Slice& slice) const;
  void reduce(const Range& range, Slice& slice) const;
  void reduce_parts(const Range& range, Slice& slice) const;

  Call call_;
  Partition blocks_;  ///< of the whole call
  int rank_;
  int ranks_;
  std::size_t element_bytes_;
  std::vector<Move> moves_{};
  std::optional<int> reduced_{};  ///< the block of all ranks' inputs that is reduced here
  std::vector<int> readers_{};    ///< peers
  std::vector<int> sources_{};    ///< peers
  std::size_t limit_ = 0;         ///< elements of a block in a slice
  std::size_t slices_ = 0;
};

}  // namespace rondo::direct_device
