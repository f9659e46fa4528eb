// How far a training has come.
#pragma once

#include <cstddef>

namespace rondo::train {

/// What a checkpoint keeps besides the strategy's shards; equal on every rank.
struct Position {
  std::size_t step = 0;   ///< steps done, including skipped ones: the sampler's place
  std::size_t taken = 0;  ///< steps the optimizer took
  double loss_scale = 1;
  std::size_t good = 0;  ///< steps since the loss scale was changed
};

}  // namespace rondo::train
