// Where a rank keeps gradients, and when those of the other ranks are added.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/strategy/zero/partition.h"

namespace rondo::train {

/// Belongs to one rank; every rank makes the same calls. The workplace and the partition outlive
/// it.
class Gradients {
 public:
  virtual ~Gradients() = default;

  virtual void begin_step() = 0;
  virtual void begin_micro_step(bool last) = 0;
  virtual void open(std::size_t unit) = 0;
  virtual void close(std::size_t unit) = 0;
  virtual std::span<float> at(std::size_t unit) = 0;
  /// After the call for the last micro-step the averages of this rank's blocks are complete.
  virtual void end_micro_step() = 0;

  /// The average for a part of this rank's block of a segment, as float32: in place, or written to
  /// the start of `scratch`.
  virtual std::span<const float> own(std::size_t segment, Extent part,
                                     std::span<float> scratch) = 0;
  /// As Strategy::later_bytes().
  virtual std::size_t later_bytes() const = 0;
};

/// Every rank adds up its own gradients of the whole model over the micro-steps. In the last
/// micro-step each segment is reduce-scattered when it is complete.
std::unique_ptr<Gradients> whole_gradients(const Workplace& place, const Partition& partition,
                                           const StrategyOptions& options);
/// Every rank keeps only its own blocks. In every micro-step a segment's gradient lives in a
/// buffer, from the moment that backward enters the segment until it is reduce-scattered.
std::unique_ptr<Gradients> scattered_gradients(const Workplace& place, const Partition& partition,
                                               const StrategyOptions& options);

}  // namespace rondo::train
