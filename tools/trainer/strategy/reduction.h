// Averages a bucket's gradients over the ranks: as they are, rounded for the wire, or compressed.
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

/// Belongs to one rank. Every rank starts the buckets in the same order and finishes them in that
/// order. The destructor waits for buckets that were started and not finished, so gradients must
/// outlive it.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// The bucket's gradients are complete. Until finish() nothing else may touch them.
  virtual void start(std::size_t bucket) = 0;
  /// Waits. Afterwards the gradients hold the average, equal on every rank.
  virtual void finish(std::size_t bucket) = 0;
};

/// Averages gradients of type `precision` in place: those of the whole flat model, from `gradients`
/// on.
std::unique_ptr<Reduction> reduce_in_place(const Workplace& place, std::vector<Bucket> buckets,
                                           void* gradients, Precision precision);

/// Sends float32 gradients rounded to `wire`, through buffers of its own.
std::unique_ptr<Reduction> reduce_narrow(const Workplace& place, std::vector<Bucket> buckets,
                                         std::span<float> gradients, Precision wire);

/// Sends the `share` of largest magnitude of each bucket, as values and indices. Keeps the rest and
/// adds it to the next step's gradients (error feedback).
std::unique_ptr<Reduction> reduce_top_k(const Workplace& place, std::vector<Bucket> buckets,
                                        std::span<float> gradients, double share);

}  // namespace rondo::train
