// All-reduces written by hand, directly on channels, to compare the executor with.
//
// Each is one algorithm's schedule, written for one case only: float32, sum, frames filled and read
// in place, slices pipelined, one pass over the data for each sum.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "bench/floor/wire.h"

namespace rondo::bench {

class HandAllReduce {
 public:
  virtual ~HandAllReduce() = default;
  /// output = the sum of all ranks' inputs. Not in place. Returns when the output is complete.
  virtual void run(const float* input, float* output, std::size_t count) = 0;
  /// Longer vectors it does not take.
  virtual std::size_t most_bytes() const { return static_cast<std::size_t>(-1); }
};

/// At most 4 ranks: partial sums wait in slots, and with more ranks they would wait in a circle.
inline constexpr int most_ring_ranks = 4;
std::unique_ptr<HandAllReduce> ring_by_hand(Wire& wire);
std::unique_ptr<HandAllReduce> two_shot_by_hand(Wire& wire);
/// It takes vectors of at most one slot.
std::unique_ptr<HandAllReduce> one_shot_by_hand(Wire& wire);
/// By its name: one of these three.
std::unique_ptr<HandAllReduce> all_reduce_by_hand(std::string_view algorithm, Wire& wire);

}  // namespace rondo::bench
