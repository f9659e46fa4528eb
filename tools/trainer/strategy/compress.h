// Gradients that are sent in another form than the one in which they lie: rounded, as 8-bit numbers, or
// only the largest of them. For ddp in float32.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tools/trainer/strategy/partition.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// Belongs to one rank. Every rank packs the segments in the same order.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// A segment's gradients are complete. Until unpack() nothing else may touch them. Returns the
  /// call that sends them, from buffers of its own.
  virtual Collection pack(std::size_t segment, std::span<float> gradients) = 0;
  /// After the call: the gradients become the average, equal on every rank.
  virtual void unpack(std::size_t segment, std::span<float> gradients) = 0;
};

/// Null: gradients are sent as they are.
/// - `wire` other than `precision`: sends them rounded to `wire`.
/// - `quantized`: sends them as 8-bit numbers. Keeps what these are off, likewise.
/// - `top_k`: sends that share of each segment, of largest magnitude, as values and indices. Keeps
///   the rest and adds it to the next step's gradients (error feedback).
std::unique_ptr<Compressor> make_compressor(const Workplace& place, const Partition& partition,
                                            const StrategyOptions& options);

}  // namespace rondo::train
