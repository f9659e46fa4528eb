// Gradients become complete from the model's end to its start. Buckets cut them, in that order, at
// parameters' borders into calls of a good size.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/trainer/model/unit.h"

namespace rondo::train {

struct Bucket {
  std::size_t begin = 0;  ///< in the flat model, in elements
  std::size_t end = 0;
  std::size_t unit = 0;  ///< complete when this unit's gradient is: the lowest it touches
  std::size_t size() const { return end - begin; }
};

/// Descending, without gaps. Each is as large as it can be within `elements`, but holds at least
/// one parameter, however large.
std::vector<Bucket> make_buckets(const Layout& layout, std::size_t elements);

}  // namespace rondo::train
