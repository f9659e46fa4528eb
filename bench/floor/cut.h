// How a vector is cut for an all-reduce by hand: a chunk for each rank, in a few slices.
#pragma once

#include <cstddef>
#include <vector>

namespace rondo::bench {

/// Float32 elements [begin, begin + elements) of the vector.
struct Piece {
  std::size_t begin = 0;
  std::size_t elements = 0;
};

/// Cuts as the executor does, so that both move the same frames.
class Cut {
 public:
  Cut() = default;
  /// `count` float32 elements in `chunks` chunks; a slice fits a frame.
  Cut(std::size_t count, int chunks, std::size_t frame_bytes);

  std::size_t count() const { return offsets_.empty() ? 0 : offsets_.back(); }
  int slices() const { return slices_; }
  /// May be empty: chunks differ in size.
  Piece piece(int chunk, int slice) const {
    const auto at = static_cast<std::size_t>(chunk);
    const std::size_t begin = offsets_[at] + static_cast<std::size_t>(slice) * slice_;
    const std::size_t end = offsets_[at + 1];
    if (begin >= end) return {end, 0};
    return {begin, end - begin < slice_ ? end - begin : slice_};
  }

 private:
  std::vector<std::size_t> offsets_{};  ///< of the chunks, and the end
  std::size_t slice_ = 0;               ///< elements, at most
  int slices_ = 0;                      ///< of the largest chunk
};

/// The order in which items of several slices go through a pipeline. At time t it is item k of
/// slice t - k, lower items first. Both ends of a channel walk in this order.
class Walk {
 public:
  /// Items first to last of each of `slices`.
  Walk(int first, int last, int slices) : first_(first), last_(last), slices_(slices) {
    time_ = first;
    item_ = first;
    done_ = slices == 0 || last < first;
  }

  bool done() const { return done_; }
  int item() const { return item_; }
  int slice() const { return time_ - item_; }
  void next() {
    do {
      if (item_ < last_) {
        ++item_;
      } else {
        item_ = first_;
        done_ = ++time_ == slices_ + last_;
      }
    } while (!done_ && (slice() < 0 || slice() >= slices_));
  }
  bool at(const Walk& other) const {
    return !other.done_ && item_ == other.item_ && time_ == other.time_;
  }

 private:
  int first_;
  int last_;
  int slices_;
  int time_ = 0;
  int item_ = 0;
  bool done_ = false;
};

}  // namespace rondo::bench
