// Where a rank keeps gradients, and when those of the other ranks are added.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "tools/trainer/strategy/compress.h"
#include "tools/trainer/strategy/partition.h"
#include "tools/trainer/strategy/values.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// Belongs to one rank; every rank makes the same calls. The constructor's arguments outlive it.
/// - Whole: every rank adds up its own gradients of the whole model over the micro-steps. In the
///   last one (with sync_every_micro_step, in each) every segment is all-reduced when it is
///   complete, or reduce-scattered if optimizer state is sharded.
/// - Scattered: every rank keeps only its own blocks. In every micro-step a segment's gradient lives
///   in a buffer, from the moment that backward enters the segment until it is reduce-scattered.
class Gradients {
 public:
  Gradients(const Workplace& place, const Partition& partition, const StrategyOptions& options,
            const StrategyInfo& info);

  void begin_step() { values_.zero(); }
  void begin_micro_step(bool last);
  void open(std::size_t unit);
  void close(std::size_t unit);
  std::span<float> at(std::size_t unit);
  /// After the call for the last micro-step the averages of this rank's blocks are complete.
  void end_micro_step();

  /// The average for a part of this rank's block of a segment, as float32: in place, or written to
  /// the start of `scratch`.
  std::span<const float> own(std::size_t segment, Extent part, std::span<float> scratch);
  /// As Strategy::later_bytes().
  std::size_t later_bytes() const;

 private:
  Values& values_of(std::size_t segment) { return scattered_ ? buffers_[segment] : values_; }
  std::size_t begin_of(std::size_t unit) const {
    return scattered_ ? partition_.offset_in_segment(unit) : partition_.whole_begin(unit);
  }
  std::span<float> whole(std::size_t segment) {
    return values_.floats(partition_.segment(segment).whole, partition_.padded(segment));
  }
  Collection call_for(std::size_t segment);
  void reduce(std::size_t segment);
  void collect();

  const Workplace& place_;
  const Partition& partition_;
  const StrategyOptions& options_;
  const StrategyInfo& info_;
  bool scattered_;
  Values values_;  ///< sums over the micro-steps
  Pool pool_;
  WorkingUnits working_;         ///< 16 bits only
  std::vector<Values> buffers_;  ///< scattered only; empty: backward has not entered it
  std::unique_ptr<Compressor> compressor_;
  std::vector<Pending> works_;         ///< after the buffers that they send
  std::vector<std::size_t> missing_;   ///< units of a segment that backward has not left yet
  std::deque<std::size_t> started_{};  ///< segments, in the order of their calls
  bool syncs_ = false;                 ///< this micro-step sends
};

}  // namespace rondo::train
