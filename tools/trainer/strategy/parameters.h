// Where a rank keeps the parameters that the model computes with: all of them, or only its own
// blocks and those that it gathers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/trainer/strategy/storage.h"

namespace rondo::train {

enum class Pass : unsigned char { forward, backward };

/// Belongs to one rank; every rank makes the same calls.
/// - Replicated: every rank holds all parameters. Changed blocks are all-gathered in the
///   background.
/// - Sharded: every rank holds its own blocks. A segment (of one unit) is gathered while the
///   segment before it is computed, and released after its own computation.
class Parameters : public Storage {
 public:
  Parameters(const Workplace& place, const Partition& partition, const StrategyOptions& options,
             const StrategyInfo& info)
      : Storage(place, partition, options, info.shards_parameters, Use::parameters, Use::working),
        visited_(partition.segments().size()) {}

  void adopt(std::size_t unit, std::span<const float> values);
  /// A pass opens every unit once.
  void open(std::size_t unit, Pass pass);
  void close(std::size_t unit);

  /// float32 only: this rank's block of a segment without its padding, for the optimizer to change.
  std::span<float> own(std::size_t segment) {
    return values_.floats(own_begin(segment), partition_.owned(segment).size);
  }
  /// 16 bits only: the same, rounded from the master weights.
  void write_own(std::size_t segment, std::span<const float> master) {
    values_.write(own_begin(segment), master);
  }
  /// The block has changed. Ranks that hold a copy get the new one, at the latest when the unit is
  /// opened.
  void own_changed(std::size_t segment);

  std::span<const std::byte> replica(std::size_t unit);
  void settle();

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void gather(std::size_t segment);
  void prefetch();
  /// Releases what was gathered for replica() only.
  void hide() {
    if (shown_ != none) give_buffer(std::exchange(shown_, none));
  }

  std::vector<bool> visited_;  ///< sharded only: units in this pass
  Pass pass_ = Pass::forward;
  std::size_t shown_ = none;  ///< gathered for replica() only
};

}  // namespace rondo::train
