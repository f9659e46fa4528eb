// Data for checks: inputs whose reduction is exact in any order, and the expected results.
//
// Element i of rank r is a function of (seed, r, i): any rank can compute the input of any other.
// The values are whole numbers, chosen so that no partial result is rounded or overflows:
//   integers, sum and prod   any value: arithmetic modulo 2^bits does not depend on order
//   bit_and, bit_or          any value on a window of two ranks, the neutral value on the others:
//                            with random values everywhere, hardly a bit depends on a single rank
//   bit_xor                  any value
//   floats, sum              |values| add up to at most 2^(significant bits); with too many ranks
//                            for that (fp8), only a window of ranks is non-zero at each element
//   floats, prod             1 and 2 with signs, at most as many twos as the exponent can take
//   min, max, moved data     any value that the type holds exactly
//   avg                      integers: the sum fits the type; floats: a window of two positive
//                            contributions, so that rounding stays within 2 ulp
// No rank's input is all zero, and at every element of a float sum some rank's value is not zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/types.h"

namespace rondo::bench {

/// Which numbers to draw; see the head of this file. Public for the tests.
struct Recipe {
  int window = 1;               ///< ranks that do not contribute the neutral value
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
  /// output[k] = the reduction of element first + k over so many ranks, from 0 on.
  void fill_reduced(void* output, std::size_t first, std::size_t count, int ranks) const;

  /// The whole number that an element stands for: integers as 64-bit two's complement.
  std::int64_t value(int rank, std::size_t index) const;
  /// The reduction before avg's division, in 64-bit arithmetic.
  std::int64_t reduced_value(std::size_t index, int ranks) const;

  DataType type() const { return type_; }
  /// How many units in the last place a reduced element may be off.
  std::uint64_t tolerance() const;

 private:
  /// Whether the rank contributes a value that is not the neutral one.
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
