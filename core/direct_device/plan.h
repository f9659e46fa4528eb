// What one rank does in a collective between devices: which bytes it shows to others in its half of
// a staging area, which of theirs it reads, and what it reduces. Numbers only: no pointers, no
// CUDA.
//
// A call is cut into slices: the same collective on the same range of every block, as much as fits
// half a staging area. Each rank fills its half with the slice of its input; whoever needs it reads
// it from there, straight into its output or as an operand of a reduction. Large all-reduces take
// two steps: each rank reduces its part of the slice, in place in its own half, and then everybody
// reads everybody's part. Every rank cuts alike, as the cuts depend on nothing but the call.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/control/call.h"

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

/// The elements at the same place of every rank's half, in the order of ranks, into the output, or
/// into the same place of this rank's own half.
struct Reducing {
  std::size_t place = 0;  ///< in bytes
  std::size_t count = 0;
  std::optional<std::size_t> output{};  ///< in bytes; none: into the own half
};

/// One slice, on one rank. Peers are other ranks.
struct Slice {
  std::vector<Run> fill{};             ///< input to own half; empty: it shows nothing
  std::vector<int> readers{};          ///< peers that read the own half
  std::vector<int> sources{};          ///< peers whose halves this rank reads
  std::vector<Run> own{};              ///< input to output
  std::vector<Pull> pulls{};           ///< when the sources have filled their halves
  std::optional<Reducing> reducing{};  ///< then
  std::vector<Pull> gathers{};         ///< when the sources have reduced theirs; own ones, too
};

class Plan {
 public:
  /// Up to so many bytes every rank reduces all of an all-reduce by itself: one exchange of
  /// signals.
  static constexpr std::size_t most_one_shot_bytes = std::size_t{64} << 10;

  /// `call` is a collective, not barrier, of at least one element, in a communicator of at least 2
  /// ranks; a half holds at least one element of each block.
  Plan(const Call& call, int rank, int ranks, std::size_t half_bytes);

  std::size_t slices() const { return slices_; }
  Slice slice(std::size_t index) const;

 private:
  /// Where a slice lies in each block, in elements.
  struct Range {
    std::size_t begin;
    std::size_t count;
  };

  std::size_t bytes(std::size_t elements) const { return elements * element_bytes_; }
  std::size_t at(int block, const Range& range) const;
  std::size_t in_half(int block, const Range& range) const;
  Run block_to_half(int block, const Range& range) const;
  void fill_all_blocks(const Range& range, bool with_own, Slice& slice) const;
  void keep_own(int from, int to, const Range& range, Slice& slice) const;
  void pull(int source, int from, int to, const Range& range, Slice& slice) const;

  void all_reduce(const Range& range, Slice& slice) const;
  void reduce_scatter(const Range& range, Slice& slice) const;
  void all_gather(const Range& range, Slice& slice) const;
  void broadcast(const Range& range, Slice& slice) const;
  void reduce(const Range& range, Slice& slice) const;
  void all_to_all(const Range& range, Slice& slice) const;
  void scatter(const Range& range, Slice& slice) const;
  void gather(const Range& range, Slice& slice) const;

  Call call_;
  int rank_;
  int ranks_;
  std::vector<int> peers_{};  ///< all other ranks
  std::size_t element_bytes_;
  std::size_t limit_ = 0;  ///< elements of a block in a slice
  std::size_t slices_ = 0;
};

}  // namespace rondo::direct_device
