// The buffers of one command: several pairs used in turn, so that data is as fresh as a program's
// own results are. Inputs are written anew before every sample; results are checked completely.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/compare/library.h"
#include "bench/compare/pattern.h"

namespace rondo::compare {

class Buffers {
 public:
  /// `count` pairs, which lie in one block of inputs and one of outputs: a library that allocates
  /// by the page or the file descriptor gives even 8 B calls many.
  Buffers(Library& library, Collective collective, std::size_t bytes, std::size_t count)
      : library_(library),
        collective_(collective),
        shape_(shape_of(collective, bytes, static_cast<std::size_t>(library.ranks()))),
        inputs_(library.allocate(count * stride(shape_.input))),
        outputs_(library.allocate(count * stride(shape_.output))) {
    for (std::size_t pair = 0; pair < count; ++pair) {
      float* input = inputs_.get() + pair * stride(shape_.input);
      float* output = outputs_.get() + pair * stride(shape_.output);
      std::fill_n(output, shape_.output, -1.0F);
      pairs_.push_back({input, output});
    }
  }

  /// Writes all inputs, each with a salt of its own.
  void refill(std::size_t seed) {
    for (Pair& pair : pairs_) {
      pair.salt = seed += 331;
      fill(pair.input, shape_.input, pair.salt, library_.rank());
      pair.used = false;
    }
  }

  /// The job's next call, the same on every rank.
  void run_next() {
    const std::size_t number = calls_++;
    Pair& pair = pairs_[number % pairs_.size()];
    pair.root = root_of(number, library_.ranks());
    pair.used = true;
    library_.run({collective_, pair.input, pair.output, shape_.block, pair.root});
  }

  /// Wrong elements of all results since the last refill.
  std::size_t count_wrong() const {
    std::size_t wrong = 0;
    for (const Pair& pair : pairs_) wrong += pair.used ? wrong_in(pair) : 0;
    return wrong;
  }

 private:
  struct Pair {
    float* input;
    float* output;
    std::size_t salt = 0;
    int root = 0;
    bool used = false;
  };

  /// Elements from one buffer to the next: whole cache lines, and one more, so that buffers of a
  /// power of two do not all fall into the same sets of a cache.
  static std::size_t stride(std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(float);
    return (count + line - 1) / line * line + line;
  }

  /// Blocks of all ranks in order, each from its sender's element `first` on.
  std::size_t wrong_blocks(const Pair& pair, std::size_t first) const {
    std::size_t wrong = 0;
    for (int rank = 0; rank < library_.ranks(); ++rank) {
      const float* block = pair.output + static_cast<std::size_t>(rank) * shape_.block;
      wrong += wrong_copies(block, shape_.block, first, pair.salt, rank);
    }
    return wrong;
  }

  std::size_t wrong_in(const Pair& pair) const {
    const float* output = pair.output;
    const std::size_t own = static_cast<std::size_t>(library_.rank()) * shape_.block;
    switch (collective_) {
      case Collective::all_reduce:
        return wrong_sums(output, shape_.output, 0, pair.salt, library_.ranks());
      case Collective::reduce_scatter:
        return wrong_sums(output, shape_.output, own, pair.salt, library_.ranks());
      case Collective::all_gather:
        return wrong_blocks(pair, 0);
      case Collective::all_to_all:
        return wrong_blocks(pair, own);
      case Collective::broadcast:
        if (pair.root == library_.rank()) return 0;  // its buffer was the input
        return wrong_copies(output, shape_.output, 0, pair.salt, pair.root);
      case Collective::copy:
        return wrong_copies(output, shape_.output, 0, pair.salt, library_.rank());
    }
    return shape_.output;
  }

  Library& library_;
  Collective collective_;
  Shape shape_;
  Floats inputs_;
  Floats outputs_;
  std::vector<Pair> pairs_{};
  std::size_t calls_ = 0;
};

}  // namespace rondo::compare
