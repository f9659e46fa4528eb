// Slices: how a call on device buffers is cut into calls on host memory, each of which fits one
// slot of a lane.
//
// - A slice is the same collective on the same range of every block: elements [begin, begin +
//   count) of each, as far as the block has them.
// - In the slot its blocks lie one after the other. It is in place: a rank's own block is part of
//   the larger buffer. Only all_to_all has its output after its input.
// - Every rank cuts alike. The cuts depend only on the call, its counts, the number of ranks and
//   the size of a slot.
// - The first slice is shorter, by an amount that depends on the number of slices. So ranks that
//   disagree about a large count disagree about their first slice already.
// - If blocks differ in size, each slice carries the fingerprint of all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/plan/ragged.h"

namespace rondo::stream {

class Slices {
 public:
  /// Throws Error{invalid_argument} where one element of each block does not fit a slot.
  /// `sends`: of a message (Collective::send_recv), its direction.
  Slices(const Call& call, Counts counts, bool sends, int rank, int ranks, std::size_t slot_bytes);

  std::size_t count() const { return count_; }
  std::size_t begin(std::size_t slice) const;
  std::size_t elements(std::size_t slice) const { return begin(slice + 1) - begin(slice); }
  /// The slice as a call, and the counts of its blocks where the whole call has some.
  Call call(std::size_t slice) const;
  std::vector<std::size_t> counts(std::size_t slice) const;

  /// One run of bytes between a user's buffer and a slot.
  struct Copy {
    std::size_t buffer_offset;
    std::size_t slot_offset;
    std::size_t bytes;
  };
  /// How many runs a slice's input has, and each of them.
  std::size_t input_copies(std::size_t slice) const { return copies(input_, slice); }
  Copy input_copy(std::size_t slice, std::size_t run) const { return copy(input_, slice, run); }
  std::size_t output_copies(std::size_t slice) const { return copies(output_, slice); }
  Copy output_copy(std::size_t slice, std::size_t run) const { return copy(output_, slice, run); }

  /// Where in the slot the slice's call has its input and its output, in bytes.
  std::size_t input_offset(std::size_t slice) const { return offset(input_, slice); }
  std::size_t output_offset(std::size_t slice) const { return offset(output_, slice); }
  std::size_t input_elements(std::size_t slice) const {
    return elements_of(input_.blocks, part(slice));
  }

 private:
  /// A user's buffer on this rank.
  struct Side {
    ChunkSpan blocks{};
    bool behind = false;  ///< in a slot it lies after the other one, not within it
  };
  static std::size_t elements_of(const ChunkSpan& blocks, const Partition& partition) {
    return partition.offset(blocks.first + blocks.count) - partition.offset(blocks.first);
  }
  /// A slice's range of every block.
  Partition part(std::size_t slice) const { return whole_.range(begin(slice), elements(slice)); }
  bool is_whole(std::size_t slice) const { return elements(slice) == whole_.largest_chunk(); }
  std::size_t copies(const Side& side, std::size_t slice) const;
  Copy copy(const Side& side, std::size_t slice, std::size_t run) const;
  std::size_t offset(const Side& side, std::size_t slice) const;

  Call call_;
  std::size_t element_bytes_;
  bool ragged_;
  Partition whole_;  ///< in blocks
  Side input_{};
  Side output_{};
  int origin_ = 0;         ///< the block that a slot begins with
  std::size_t limit_ = 0;  ///< elements of a block in a slot
  std::size_t first_ = 0;  ///< elements of the first slice
  std::size_t count_ = 0;
};

}  // namespace rondo::stream
