// How a rank keeps the parameters and the gradients of a model: all of them, or only its own blocks.
// Where only own blocks are kept, whole segments lie in buffers as long as they are needed. Where
// values are kept in 16 bits, units are float32 while they are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tools/trainer/math/narrow.h"
#include "tools/trainer/strategy/partition.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// An array of float32 or 16-bit floats, chosen when the program runs. Owns `count` zeroed elements,
/// counted in the ledger. Movable.
class Values {
 public:
  Values() = default;
  Values(Ledger& ledger, Use use, Precision precision, std::size_t count)
      : precision_(precision), bytes_(ledger, use, count * info(precision).bytes) {}

  bool empty() const { return bytes_.empty(); }
  bool is_narrow() const { return precision_ != Precision::float32; }
  DataType type() const { return info(precision_).wire; }
  void zero() { bytes_.zero(); }

  /// Where element `index` lies.
  std::byte* at(std::size_t index) { return bytes_.data() + index * info(precision_).bytes; }
  std::span<const std::byte> bytes(std::size_t begin, std::size_t count) {
    return {at(begin), count * info(precision_).bytes};
  }
  /// float32 only: the elements themselves.
  std::span<float> floats(std::size_t begin, std::size_t count) {
    return {reinterpret_cast<float*>(at(begin)), count};
  }
  /// `from` is float32 in this process's own memory.
  void write(std::size_t begin, std::span<const float> from);
  /// 16 bits only: to float32; adding, rounding once.
  void read(std::size_t begin, std::span<float> into) {
    widen(halves(begin, into.size()), into, precision_);
  }
  void add(std::size_t begin, std::span<const float> terms);
  /// Adds terms of the same type.
  void add(std::size_t begin, Values& terms, std::size_t terms_begin, std::size_t count);

 private:
  std::span<std::uint16_t> halves(std::size_t begin, std::size_t count) {
    return {reinterpret_cast<std::uint16_t*>(at(begin)), count};
  }

  Precision precision_ = Precision::float32;
  Array<std::byte> bytes_{};
};

/// Numbered arrays that are taken for a short while, again and again. Number 0 has memory of its own, all
/// others share that of a few. Contents are undefined.
class Pool {
 public:
  /// `sizes`: what the numbers need at least. None: nothing is taken. `others`: how many besides number 0
  /// are taken at once.
  Pool(Ledger& ledger, Use use, Precision precision, const std::vector<std::size_t>& sizes,
       std::size_t others);

  void take(std::size_t number) {
    taken_[number] = std::move(idle(number).back());
    idle(number).pop_back();
  }
  void give(std::size_t number) { idle(number).push_back(std::exchange(taken_[number], {})); }
  /// Empty where it is not taken.
  Values& operator[](std::size_t number) { return taken_[number]; }

 private:
  std::vector<Values>& idle(std::size_t number) { return number == 0 ? first_ : others_; }

  std::vector<Values> taken_;
  std::vector<Values> first_{};
  std::vector<Values> others_{};
};

/// Sends gradients in another form than the one in which they lie: rounded, as 8-bit numbers, or only
/// the largest of them. For ddp in float32. Belongs to one rank. Every rank packs the segments in the
/// same order.
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

/// What parameters and gradients have in common. Belongs to one rank; every rank makes the same calls.
/// The constructor's arguments outlive it.
class Storage {
 public:
  std::span<float> at(std::size_t unit) {
    const std::size_t size = place_.layout.unit(unit).size;
    if (values_.is_narrow()) return open_[unit].floats(0, size);
    return values_of(partition_.segment_of(unit)).floats(begin_of(unit), size);
  }

 protected:
  /// `use`: of what is kept; `passing`: of the buffers.
  Storage(const Workplace& place, const Partition& partition, const StrategyOptions& options,
          bool blocks_only, Use use, Use passing);

  Values& values_of(std::size_t segment) { return blocks_only_ ? buffers_[segment] : values_; }
  /// Where a unit begins in the values of its segment.
  std::size_t begin_of(std::size_t unit) const {
    return blocks_only_ ? partition_.offset_in_segment(unit) : partition_.whole_begin(unit);
  }
  /// Where this rank's block of a segment begins in what is kept.
  std::size_t own_begin(std::size_t segment) const {
    return blocks_only_ ? partition_.segment(segment).own : partition_.own_block(segment);
  }
  /// 16 bits only: the unit in float32, whose content is undefined, until open_.give(unit).
  std::span<float> open_unit(std::size_t unit) {
    open_.take(unit);
    return at(unit);
  }

  const Workplace& place_;
  const Partition& partition_;
  const StrategyOptions& options_;
  bool blocks_only_;
  Values values_;
  Pool buffers_;                ///< by segment
  Pool open_;                   ///< by unit
  std::vector<Pending> calls_;  ///< by segment; after the buffers that they use
};

enum class Pass : unsigned char { forward, backward };

/// - Replicated: every rank holds all parameters. Changed blocks are all-gathered in the background.
/// - Sharded: every rank holds its own blocks. A segment (of one unit) is gathered while the segment
///   before it is computed, and released after its own computation.
class Parameters : public Storage {
 public:
  Parameters(const Workplace& place, const Partition& partition, const StrategyOptions& options,
             const StrategyInfo& info)
      : Storage(place, partition, options, info.shards_parameters, Use::parameters, Use::working) {}

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
  void prefetch(std::size_t unit, Pass pass);
  /// Releases what was gathered for replica() only.
  void hide() {
    if (shown_ != none) buffers_.give(std::exchange(shown_, none));
  }

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
