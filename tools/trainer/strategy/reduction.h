// Averaging a bucket's gradients over the ranks, in the ways that the wire can be used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/strategy/bucket.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// One rank's. Buckets are started in the same order on every rank, and finished in that order.
/// The destructor waits for what was started and not finished: gradients must outlive it.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// The bucket's gradients are complete; from here to finish() they are this object's.
  virtual void start(std::size_t bucket) = 0;
  /// Waits; afterwards the gradients are the average, equal on every rank.
  virtual void finish(std::size_t bucket) = 0;
};

/// Gradients of `precision`, the whole flat model from `gradients` on, averaged where they lie.
std::unique_ptr<Reduction> reduce_in_place(const Workplace& place, std::vector<Bucket> buckets,
                                           void* gradients, Precision precision);

/// float32 gradients that travel rounded to `wire`, through buffers of their own.
std::unique_ptr<Reduction> reduce_narrow(const Workplace& place, std::vector<Bucket> buckets,
                                         std::span<float> gradients, Precision wire);

/// Of each bucket the `share` of largest magnitude travels, as values and indices; the rest is kept
/// and added to the next step's gradients (error feedback).
std::unique_ptr<Reduction> reduce_top_k(const Workplace& place, std::vector<Bucket> buckets,
                                        std::span<float> gradients, double share);

}  // namespace rondo::train
