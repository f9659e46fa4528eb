// The optimizer's side of ZeRO: a rank's own blocks, with their state.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/strategy/zero/gradients.h"
#include "tools/trainer/strategy/zero/parameters.h"
#include "tools/trainer/strategy/zero/partition.h"

namespace rondo::train {

/// Belongs to one rank. The workplace, the partition and the holders outlive it.
class Owned {
 public:
  Owned(const Workplace& place, const Partition& partition, const StrategyOptions& options,
        Parameters& parameters, Gradients& gradients);

  /// The master weights' part of Strategy::adopt().
  void adopt(std::size_t unit, std::span<const float> values);
  /// The sum over this rank's blocks.
  double sum_of_squared_gradients();
  void update(const Step& step);
  std::vector<Range> shards();
  void shards_changed();

 private:
  bool is_narrow() const { return precision_ != Precision::float32; }
  bool has_master() const { return is_narrow() || offload_; }
  /// Float32 parameters of this rank's block of a segment, without padding.
  std::span<float> master(std::size_t segment);
  Range range(std::size_t segment);
  /// Calls visit(part, gradients) for runs that cover this rank's block of a segment.
  template <class Visit>
  void each_run(std::size_t segment, Visit visit);
  /// Shows the changes to the other ranks. `copied`: also updates the model's parameters from the
  /// master weights.
  void publish(std::size_t segment, bool copied);

  Workplace place_;
  const Partition& partition_;
  Precision precision_;
  bool offload_;
  Parameters& parameters_;
  Gradients& gradients_;
  Array<float> master_{};  ///< 16 bits, or offloaded
  Array<float> run_{};     ///< 16 bits only
  std::vector<Array<float>> states_{};
};

}  // namespace rondo::train
