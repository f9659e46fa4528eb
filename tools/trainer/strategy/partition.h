// Which rank owns which part of the model. The model is cut into segments of whole units; each is
// padded to a multiple of the ranks, and rank r owns its r-th block.
//
//   segment 0 (3 ranks)            segment 1
//   [ rank 0 | rank 1 | rank 2.. ][ rank 0 | rank 1 | rank 2. ]     . is padding
//
// Arrays come in two shapes: *whole*, the padded segments one after the other, and *own*, this
// rank's blocks one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tools/trainer/model/unit.h"

namespace rondo::train {

/// All in elements.
struct Segment {
  std::size_t begin = 0;  ///< in the flat model, as is end
  std::size_t end = 0;
  std::size_t units = 0;
  std::size_t block = 0;  ///< of each rank, padding included
  std::size_t whole = 0;  ///< where it begins in a whole array
  std::size_t own = 0;    ///< where this rank's block begins in an array of own blocks
};

/// A run of the flat model.
struct Extent {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// One rank's view; the same cuts on every rank. Any thread.
class Partition {
 public:
  /// Segments hold as many whole units as fit into `elements`, but at least one. They are filled
  /// from the model's end, in the order in which gradients are complete.
  Partition(const Layout& layout, int ranks, int rank, std::size_t elements);

  /// Ascending.
  const std::vector<Segment>& segments() const { return segments_; }
  const Segment& segment(std::size_t index) const { return segments_[index]; }
  std::size_t segment_of(std::size_t unit) const { return segment_of_[unit]; }
  std::size_t ranks() const { return ranks_; }
  std::size_t rank() const { return rank_; }

  std::size_t whole_size() const { return own_size_ * ranks_; }
  std::size_t own_size() const { return own_size_; }
  std::size_t padding() const { return whole_size() - model_size_; }
  std::size_t padded(std::size_t segment) const { return segments_[segment].block * ranks_; }
  std::vector<std::size_t> padded_sizes() const {
    std::vector<std::size_t> sizes;
    for (const Segment& segment : segments_) sizes.push_back(segment.block * ranks_);
    return sizes;
  }
  /// Where a unit begins in its padded segment.
  std::size_t offset_in_segment(std::size_t unit) const {
    return begins_[unit] - segments_[segment_of_[unit]].begin;
  }
  /// In a whole array: where a unit begins, and where this rank's block of a segment does.
  std::size_t whole_begin(std::size_t unit) const {
    return segments_[segment_of_[unit]].whole + offset_in_segment(unit);
  }
  std::size_t own_block(std::size_t segment) const {
    return segments_[segment].whole + rank_ * segments_[segment].block;
  }
  template <class T>
  std::span<T> part(std::span<T> whole, std::size_t segment) const {
    return whole.subspan(segments_[segment].whole, padded(segment));
  }
  /// This rank's part of a segment without padding: a prefix of its block, which can be empty.
  Extent owned(std::size_t segment) const;

 private:
  std::size_t ranks_;
  std::size_t rank_;
  std::size_t model_size_;
  std::size_t own_size_ = 0;
  std::vector<Segment> segments_{};
  std::vector<std::size_t> segment_of_{};
  std::vector<std::size_t> begins_{};
};

}  // namespace rondo::train
