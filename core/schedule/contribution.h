// Contributions: what a chunk of memory is made of, without its bytes.
//
// - Up to 64 ranks the contributors are an exact set.
// - With more ranks they are their count and a 64-bit sum of one random number per contributor. Two
//   different multisets of equal size collide with probability 2^-64.
// - A barrier's tokens are exact sets at any number of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/schedule/collective.h"

namespace rondo {

/// The value of one chunk. Small: a ring over 1024 ranks keeps a million of them.
struct Contribution {
  enum class Fault : std::uint8_t {
    none,
    undefined,  ///< made from memory that nothing had written
    mixed,      ///< made from different input chunks
    twice,      ///< has a contributor more than once (exact sets only)
    disorder,   ///< of scans: ranks were not combined in their order
  };
  std::uint64_t set = 0;   ///< bit mask, sum of random numbers, or index of a token's set
  std::uint64_t tree = 0;  ///< hash of the tree of combinations: operands' order counts
  std::uint32_t count = 0;
  std::int32_t chunk = -1;   ///< input chunk, in its owner's numbering
  std::int32_t lowest = 0;   ///< contributors lie from here ...
  std::int32_t highest = 0;  ///< ... to here
  Fault fault = Fault::undefined;
};

/// The rules by which contributions combine in one schedule.
class ContributionAlgebra {
 public:
  explicit ContributionAlgebra(const Schedule& header);

  bool exact() const { return exact_; }
  Contribution leaf(int rank, int chunk);
  /// Left to right, as one combination of all operands. Faults of operands spread.
  Contribution combine(std::span<const Contribution> operands);
  bool satisfies(const Contribution& value, const Expectation& expectation) const;

  /// The tree of so many ranks, 0, 1, ..., combined at once.
  std::uint64_t rank_order_tree(int ranks);

  /// Contributors in ascending order; empty where only a fingerprint is known.
  std::vector<int> contributors(const Contribution& value) const;
  /// "{0 1 3} of chunk 2", "5 contributions of chunk 2", "nothing".
  std::string text(const Contribution& value) const;
  std::string text(const Expectation& expectation) const;
  /// "; missing: ranks 2, 4"; empty where none is, or only a fingerprint is known.
  std::string missing(const Contribution& value, const Expectation& expectation) const;
  /// "; counted twice: rank 0", of what is combined; empty where none is, or it is not known.
  std::string twice(std::span<const Contribution> operands) const;

 private:
  Contribution merge(const Contribution& left, const Contribution& right);
  std::uint64_t token(const Contribution& left, const Contribution& right);

  int ranks_;
  bool token_;
  bool ordered_;  ///< operands must be in the order of ranks
  bool exact_;
  std::vector<std::uint64_t> sets_;                   ///< by r: `set` of the ranks below r, once
  std::vector<std::vector<std::uint64_t>> tokens_{};  ///< sets beyond 64 ranks
};

}  // namespace rondo
