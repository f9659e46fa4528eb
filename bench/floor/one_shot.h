// An all-reduce written by hand, directly on channels, to compare the executor with.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/floor/wire.h"

namespace rondo::bench {

/// One-shot: the whole vector to everybody, then one sum in the order of ranks. It is one case only:
/// float32, sum, frames read in place, one pass over the data.
class OneShot {
 public:
  explicit OneShot(Wire& wire)
      : wire_(wire), operands_(static_cast<std::size_t>(wire.ranks())), sent_(operands_.size()) {}

  /// output = the sum of all ranks' inputs. Not in place. A vector fits one slot of the wire.
  /// Returns when the output is complete.
  void run(const float* input, float* output, std::size_t count);

 private:
  int peer(int hops) const { return (wire_.rank() + hops) % wire_.ranks(); }
  /// True when the vector has been sent to every peer.
  bool send(const float* input, std::size_t bytes);
  /// True when every peer's vector heads its channel.
  bool gather(const float* input, std::size_t bytes);

  Wire& wire_;
  std::vector<const void*> operands_;  ///< by rank
  std::vector<bool> sent_;             ///< by rank
};

}  // namespace rondo::bench
