// Verification data: inputs whose reduction is exact in any order, and what must come out.
//
// Element i of rank r is a function of (seed, r, i), so any rank can say what any other holds. The
// values are whole numbers chosen so that no partial result is ever rounded or overflows:
//   integers, sum and prod   any value: arithmetic modulo 2^bits does not depend on order
//   bit_and, bit_or          any value of a window of two ranks, the neutral one elsewhere: of many
//                            ranks' any values hardly a bit depends on a single one
//   bit_xor                  any value
//   floats, sum              |values| add up to at most 2^(significant bits); where that many ranks
//                            do not fit (fp8), only a window of ranks is non-zero at an element
//   floats, prod             1 and 2 with signs, at most as many twos as the exponent can take
//   min, max, moved data     any value that the type holds exactly
//   avg                      integers: the sum fits the type; floats: a window of two positive
//                            contributions, so that rounding stays within 2 ulp
// Nobody's whole input is zero, and at every element of a float sum some rank is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/types.h"

namespace rondo::bench {

/// Which numbers to draw; see the head of this file. Public for the tests.
struct Recipe {
  int window = 1;               ///< ranks that contribute something else than the neutral value
  std::uint64_t magnitude = 0;  ///< values are 1..magnitude; 0: all bits of the type are random
  bool negatives = false;       ///< half the values carry a minus sign
  bool twos = false;            ///< contributions are 2, neutral is 1 (prod of floats)
};
Recipe recipe_for(DataType type, ReduceOperator op, bool reduces, int ranks);

/// Immutable; threads may share one.
class Pattern {
 public:
  /// `reduces` false: the data is only moved, `op` is ignored.
  Pattern(DataType type, ReduceOperator op, bool reduces, int ranks, std::uint64_t seed);

  /// output[k] = element first + k of `rank`'s input, as the type's bytes. Any alignment.
  void fill_input(void* output, int rank, std::size_t first, std::size_t count) const;
  /// output[k] = the reduction over all ranks of element first + k.
  void fill_reduced(void* output, std::size_t first, std::size_t count) const;

  /// Whole number behind an element: integers as their 64-bit two's complement.
  std::int64_t value(int rank, std::size_t index) const;
  /// The reduction before avg's division, in 64-bit arithmetic.
  std::int64_t reduced_value(std::size_t index) const;

  DataType type() const { return type_; }
  /// Units in the last place that a reduced element may be off.
  std::uint64_t tolerance() const;

 private:
  /// Whether the rank contributes something else than the neutral value.
  bool in_window(int rank, std::size_t index) const;
  template <class Source>
  void fill(void* output, std::size_t count, bool average, Source source) const;

  DataType type_;
  ReduceOperator op_;
  int ranks_;
  std::uint64_t seed_;
  Recipe recipe_;
  // 16- and 8-bit floats: the bits of every whole number in [-limit_, limit_], and of its ranks-th
  // part, so that filling is a look-up.
  std::int64_t limit_ = 0;
  std::vector<std::uint16_t> bits_;
  std::vector<std::uint16_t> average_bits_;
};

/// Elements of `actual` that differ from `expected` by more than `tolerance` units in the last
/// place (0: in any bit). Any alignment.
std::size_t count_wrong(DataType type, const void* actual, const void* expected, std::size_t count,
                        std::uint64_t tolerance);

}  // namespace rondo::bench
