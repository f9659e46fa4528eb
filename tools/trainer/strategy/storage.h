// How a rank keeps the parameters and the gradients of a model: all of them, or only its own blocks.
// Where only own blocks are kept, whole segments lie in buffers as long as they are needed. Where
// values are kept in 16 bits, units are float32 while they are open.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tools/trainer/strategy/compress.h"
#include "tools/trainer/strategy/partition.h"
#include "tools/trainer/strategy/values.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// What both have in common. Belongs to one rank; every rank makes the same calls. The constructor's
/// arguments outlive it.
class Storage {
 public:
  std::span<float> at(std::size_t unit) {
    if (values_.is_narrow()) return open_[unit].floats(0, open_[unit].size());
    return values_of(partition_.segment_of(unit))
        .floats(begin_of(unit), place_.layout.unit(unit).size);
  }
  /// As Strategy::later_bytes().
  std::size_t later_bytes() const;

 protected:
  /// `use`: of what is kept; `later`: of the buffers.
  Storage(const Workplace& place, const Partition& partition, const StrategyOptions& options,
          bool blocks_only, Use use, Use later);

  Values& values_of(std::size_t segment) { return blocks_only_ ? buffers_[segment] : values_; }
  /// Where a unit begins in the values of its segment.
  std::size_t begin_of(std::size_t unit) const {
    return blocks_only_ ? partition_.offset_in_segment(unit) : partition_.whole_begin(unit);
  }
  /// Where this rank's block of a segment begins in what is kept.
  std::size_t own_begin(std::size_t segment) const {
    return blocks_only_ ? partition_.segment(segment).own : partition_.own_block(segment);
  }
  void take_buffer(std::size_t segment) {
    buffers_[segment] = pool_.take(partition_.padded(segment));
  }
  void give_buffer(std::size_t segment) { pool_.give(std::exchange(buffers_[segment], {})); }
  /// 16 bits only: the unit in float32, whose content is undefined, until close_unit().
  std::span<float> open_unit(std::size_t unit) {
    open_[unit] = working_.take(place_.layout.unit(unit).size);
    return at(unit);
  }
  void close_unit(std::size_t unit) { working_.give(std::exchange(open_[unit], {})); }

  const Workplace& place_;
  const Partition& partition_;
  const StrategyOptions& options_;
  bool blocks_only_;
  Values values_;
  Pool pool_, working_;
  std::vector<Values> open_;     ///< by unit
  std::vector<Values> buffers_;  ///< by segment; empty: it is not needed now
  std::vector<Pending> calls_;   ///< by segment; after the buffers that they use
};

enum class Pass : unsigned char { forward, backward };

/// - Replicated: every rank holds all parameters. Changed blocks are all-gathered in the background.
/// - Sharded: every rank holds its own blocks. A segment (of one unit) is gathered while the segment
///   before it is computed, and released after its own computation.
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
