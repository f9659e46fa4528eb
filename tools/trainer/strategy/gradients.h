// Where a rank keeps gradients, and when those of the other ranks are added.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "tools/trainer/strategy/compress.h"
#include "tools/trainer/strategy/storage.h"

namespace rondo::train {

/// Belongs to one rank; every rank makes the same calls.
/// - Whole: every rank adds up its own gradients of the whole model over the micro-steps. In the
///   last one (with sync_every_micro_step, in each) every segment is all-reduced when it is
///   complete, or reduce-scattered if optimizer state is sharded.
/// - Scattered: every rank keeps only its own blocks. In every micro-step a segment's gradient lives
///   in a buffer, from the moment that backward enters the segment until it is reduce-scattered.
class Gradients : public Storage {
 public:
  Gradients(const Workplace& place, const Partition& partition, const StrategyOptions& options,
            const StrategyInfo& info);
  ~Gradients() { calls_.clear(); }  // before the compressor's buffers, which they may send

  void begin_step() { values_.zero(); }
  void begin_micro_step(bool last);
  void open(std::size_t unit);
  void close(std::size_t unit);
  /// After the call for the last micro-step the averages of this rank's blocks are complete.
  void end_micro_step();

  /// The average for a part of this rank's block of a segment, as float32: in place, or written to
  /// the start of `scratch`.
  std::span<const float> own(std::size_t segment, Extent part, std::span<float> scratch);

 private:
  std::span<float> whole(std::size_t segment) {
    return values_.floats(partition_.segment(segment).whole, partition_.padded(segment));
  }
  Collection call_for(std::size_t segment);
  void reduce(std::size_t segment);
  void collect();

  const StrategyInfo& info_;
  std::unique_ptr<Compressor> compressor_;
  std::vector<std::size_t> missing_;   ///< units of a segment that backward has not left yet
  std::deque<std::size_t> started_{};  ///< segments, in the order of their calls
  bool syncs_ = false;                 ///< this micro-step sends
};

}  // namespace rondo::train
