// All-reduces written by hand, straight on channels: what a schedule's interpreter is held against.
//
// Each is its algorithm's schedule as somebody would write it who needed only this one: float32,
// sum, frames filled and read in place, slices pipelined, one pass over data for each sum.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "bench/price/wire.h"

namespace rondo::bench {

class HandAllReduce {
 public:
  virtual ~HandAllReduce() = default;
  /// output = the sum of all ranks' inputs. Not in place. Returns when the output is complete.
  virtual void run(const float* input, float* output, std::size_t count) = 0;
};

/// At most 4 ranks: partial sums wait in slots, and with more they would wait in a circle.
inline constexpr int most_ring_ranks = 4;
std::unique_ptr<HandAllReduce> ring_by_hand(Wire& wire);
std::unique_ptr<HandAllReduce> two_shot_by_hand(Wire& wire);
/// Vectors of at most a slot.
std::unique_ptr<HandAllReduce> one_shot_by_hand(Wire& wire);

}  // namespace rondo::bench
