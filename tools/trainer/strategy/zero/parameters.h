// Where a rank keeps the parameters that the model computes with: all of them, or only its own
// blocks and those that it gathers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/strategy/zero/partition.h"

namespace rondo::train {

enum class Pass : unsigned char { forward, backward };

/// Belongs to one rank; every rank makes the same calls. The workplace and the partition outlive
/// it.
class Parameters {
 public:
  virtual ~Parameters() = default;

  virtual void adopt(std::size_t unit, std::span<const float> values) = 0;
  /// A pass opens every unit once.
  virtual void open(std::size_t unit, Pass pass) = 0;
  virtual void close(std::size_t unit) = 0;
  virtual std::span<const float> at(std::size_t unit) = 0;

  /// float32 only: this rank's block of a segment without its padding, for the optimizer to change.
  virtual std::span<float> own(std::size_t segment) = 0;
  /// 16 bits only: the same, rounded from the master weights.
  virtual void write_own(std::size_t segment, std::span<const float> master) = 0;
  /// The block has changed. Ranks that hold a copy get the new one, at the latest when the unit is
  /// opened.
  virtual void own_changed(std::size_t segment) = 0;

  virtual std::span<const std::byte> replica(std::size_t unit) = 0;
  virtual void settle() = 0;
  /// As Strategy::later_bytes().
  virtual std::size_t later_bytes() const = 0;
};

/// Every rank holds all parameters. Changed blocks are all-gathered in the background.
std::unique_ptr<Parameters> replicated_parameters(const Workplace& place,
                                                  const Partition& partition,
                                                  const StrategyOptions& options);
/// Every rank holds its own blocks. A segment (of one unit) is gathered while the segment before it
/// is computed, and released after its own computation.
std::unique_ptr<Parameters> sharded_parameters(const Workplace& place, const Partition& partition,
                                               const StrategyOptions& options);

}  // namespace rondo::train
