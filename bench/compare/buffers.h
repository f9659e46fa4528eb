// The buffers of one command. Several pairs are used in turn, so that inputs are as fresh in the
// caches as in a real program. Inputs are written before every sample; all results are checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/compare/library.h"
#include "bench/compare/pattern.h"

namespace rondo::compare {

class Buffers {
 public:
  /// `count` pairs in one block of inputs and one block of outputs. A library that allocates whole
  /// pages or file descriptors can so serve many small pairs, too.
  Buffers(Library& library, const Subject& subject, std::size_t bytes, std::size_t count)
      : library_(library),
        collective_(subject.collective),
        deals_(deals(library, subject, bytes, count)),
        inputs_(library.allocate(count * stride(most(&Deal::input)))),
        outputs_(library.allocate(count * stride(most(&Deal::output)))) {
    for (std::size_t pair = 0; pair < count; ++pair) {
      float* input = inputs_.get() + pair * stride(most(&Deal::input));
      float* output = outputs_.get() + pair * stride(most(&Deal::output));
      const Deal& deal = deals_[pair % deals_.size()];
      std::fill_n(output, deal.output, -1.0F);
      pairs_.push_back({input, output, &deal});
    }
  }
  Buffers(const Buffers&) = delete;  // pairs refer to deals
  Buffers& operator=(const Buffers&) = delete;

  /// Writes all inputs, each with its own salt.
  void refill(std::size_t seed) {
    for (Pair& pair : pairs_) {
      pair.salt = seed += 331;
      fill(pair.input, pair.deal->input, pair.salt, library_.rank());
      pair.used = false;
    }
  }

  /// The job's next call, the same on every rank.
  void run_next() {
    const std::size_t number = calls_++;
    Pair& pair = pairs_[number % pairs_.size()];
    pair.root = root_of(number, library_.ranks());
    pair.used = true;
    library_.run({collective_, pair.input, pair.output, pair.deal->block, pair.root, pair.deal});
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
    const Deal* deal;
    std::size_t salt = 0;
    int root = 0;
    bool used = false;
  };

  /// One for all pairs, or for each one where the counts are random.
  static std::vector<Deal> deals(const Library& library, Subject subject, std::size_t bytes,
                                 std::size_t count) {
    const bool random = subject.count_pattern.kind == bench::CountPattern::Kind::random;
    std::vector<Deal> made;
    for (std::size_t pair = 0; pair < (random ? count : 1); ++pair) {
      made.push_back(deal_of(subject, bytes, static_cast<std::size_t>(library.rank()),
                             static_cast<std::size_t>(library.ranks())));
      ++subject.count_pattern.seed;
    }
    return made;
  }

  std::size_t most(std::size_t Deal::*elements) const {
    std::size_t found = 0;
    for (const Deal& deal : deals_) found = std::max(found, deal.*elements);
    return found;
  }

  /// Elements from one buffer to the next: whole cache lines and one more. Otherwise buffers of a
  /// power of two would all use the same sets of a cache.
  static std::size_t stride(std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(float);
    return (count + line - 1) / line * line + line;
  }

  /// Blocks of all ranks in order, each from the beginning of its sender's input, or in an exchange
  /// from where the sender's block for this rank begins.
  std::size_t wrong_blocks(const Pair& pair, bool exchange) const {
    const Lists& received = pair.deal->received;
    std::size_t wrong = 0;
    for (std::size_t rank = 0; rank < received.counts.size(); ++rank) {
      const float* block = pair.output + received.begins[rank];
      const std::size_t first =
          exchange ? bench::begin_of(bench::counts_to(pair.deal->counts, rank), self()) : 0;
      wrong += wrong_copies(block, received.counts[rank], first, pair.salt, static_cast<int>(rank));
    }
    return wrong;
  }

  std::size_t self() const { return static_cast<std::size_t>(library_.rank()); }

  std::size_t wrong_in(const Pair& pair) const {
    const float* output = pair.output;
    const std::size_t count = pair.deal->output;
    const std::size_t own = bench::begin_of(pair.deal->counts, self());
    switch (collective_) {
      case Collective::all_reduce:
        return wrong_sums(output, count, 0, pair.salt, library_.ranks());
      case Collective::scan:
        return wrong_sums(output, count, 0, pair.salt, library_.rank() + 1);
      case Collective::exclusive_scan:
        return library_.rank() == 0 ? 0 : wrong_sums(output, count, 0, pair.salt, library_.rank());
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_v:
        return wrong_sums(output, count, own, pair.salt, library_.ranks());
      case Collective::all_gather:
      case Collective::all_gather_v:
        return wrong_blocks(pair, false);
      case Collective::gather_v:
        return pair.root == library_.rank() ? wrong_blocks(pair, false) : 0;
      case Collective::scatter_v:
        return wrong_copies(output, count, own, pair.salt, pair.root);
      case Collective::all_to_all:
      case Collective::all_to_all_v:
        return wrong_blocks(pair, true);
      case Collective::broadcast:
        if (pair.root == library_.rank()) return 0;  // its buffer was the input
        return wrong_copies(output, count, 0, pair.salt, pair.root);
      case Collective::copy:
        return wrong_copies(output, count, 0, pair.salt, library_.rank());
    }
    return count;
  }

  Library& library_;
  Collective collective_;
  std::vector<Deal> deals_;
  Floats inputs_;
  Floats outputs_;
  std::vector<Pair> pairs_{};
  std::size_t calls_ = 0;
};

}  // namespace rondo::compare
