// Gradients become complete from the model's end to its start. Buckets cut them in that order,
// between parameters, into calls of a good size.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/trainer/model/unit.h"

namespace rondo::train {

struct Bucket {
  std::size_t begin = 0;  ///< in the flat model, in elements
  std::size_t end = 0;
  std::size_t unit = 0;  ///< the lowest unit it touches; complete with that unit's gradient
  std::size_t size() const { return end - begin; }
};

/// Descending, without gaps. Each bucket is as large as possible within `elements`, but holds at
/// least one parameter, however large.
std::vector<Bucket> make_buckets(const Layout& layout, std::size_t elements);

}  // namespace rondo::train
