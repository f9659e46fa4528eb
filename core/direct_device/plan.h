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
//
// Where peers read a rank's own buffers, no halves are used. Then a call is one slice. Exception:
// large all-reduces whose reduced parts must go through halves.
//
//   reduce_scatter, all_to_all, all_reduce  peers read the input
//   all_gather                              peers read the output, where the own block is put first
//   all_reduce in two steps                 each part is reduced into its rank's output, which
//                                           peers then read, or into its half
//
// In place, a rank never overwrites what another has still to read:
//
//   reduce_scatter            it writes the block that it alone reads
//   all_reduce in two steps   it first writes the part that it alone reads, and the others when
//                             their readers have reduced them
//   all_reduce in one shot    it writes when all have read (`late`)
#pragma once

#include <cstddef>
#include <cstdint>
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

/// The same from what a rank shows to the output.
struct Pull {
  int rank = 0;
  Run run{};
};

/// Where bytes lie.
enum class Where : std::uint8_t { half, input, output };

/// Combines the elements at the same place of what every rank shows, in the order of ranks, into
/// the output or this rank's own half.
struct Reducing {
  std::size_t place = 0;  ///< in bytes
  std::size_t count = 0;
  Where target = Where::half;
  std::size_t at = 0;  ///< in bytes
};

/// Which of a call's buffers peers read where they lie: the same on every rank.
struct InPlace {
  bool input = false;
  bool output = false;
};

/// One slice, on one rank. Peers are other ranks.
struct Slice {
  Where shown = Where::half;           ///< what others read of this rank, and it of them
  std::vector<Run> fill{};             ///< input to that
  std::vector<int> readers{};          ///< peers that read what this rank shows
  std::vector<int> sources{};          ///< peers whose it reads
  std::vector<Run> own{};              ///< input to output
  std::vector<Pull> pulls{};           ///< when the sources have filled theirs
  std::optional<Reducing> reducing{};  ///< then
  Where reduced = Where::half;         ///< where parts lie that everybody reads
  std::vector<Pull> gathers{};         ///< of them, when the sources have reduced; own ones, too
  std::vector<Run> late{};             ///< own half to output, when the readers have read
};

class Plan {
 public:
  /// Up to so many bytes every rank reduces all of an all-reduce by itself: one exchange of
  /// signals.
  static constexpr std::size_t most_one_shot_bytes = std::size_t{64} << 10;

  /// `call` is a collective, not barrier, of at least one element, in a communicator of at least 2
  /// ranks; a half holds at least one element of each block.
  /// `in_place`: false for other collectives than those above. `overlap`: the input's own memory
  /// is the output's; it matters to this rank alone. `counts`: of blocks that differ in size.
  Plan(const Call& call, int rank, int ranks, std::size_t half_bytes, InPlace in_place = {},
       bool overlap = false, Counts counts = {});

  std::size_t slices() const { return slices_; }
  Slice slice(std::size_t index) const;
  /// Whether the user's own memory is shown, which the call must not leave before all have read.
  bool shows_buffers() const { return in_place_.input || in_place_.output; }

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
  std::size_t shown_at(Where shown, int rank, int block, const Range& range) const;
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
  InPlace in_place_;
  bool overlap_;
  std::vector<Move> moves_{};
  std::optional<int> reduced_{};  ///< the block of all ranks' inputs that is reduced here
  std::vector<int> readers_{};    ///< peers
  std::vector<int> sources_{};    ///< peers
  std::size_t limit_ = 0;         ///< elements of a block in a slice
  std::size_t slices_ = 0;
};

}  // namespace rondo::direct_device
