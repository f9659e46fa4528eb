#include <algorithm>
#include <vector>

#include "tools/trainer/strategy/working.h"
#include "tools/trainer/strategy/zero/gradients.h"
#include "tools/trainer/strategy/zero/pending.h"
#include "tools/trainer/strategy/zero/values.h"

namespace rondo::train {
namespace {

class Whole final : public Gradients {
 public:
  Whole(const Workplace& place, const Partition& partition, const StrategyOptions& options)
      : place_(place),
        partition_(partition),
        overlap_(options.overlap),
        values_(place.ledger, Use::gradients, options.precision, partition.whole_size()),
        working_(place.ledger, place.layout),
        missing_(partition.segments().size()),
        works_(partition.segments().size()) {}

  void begin_step() override { values_.zero(); }
  void begin_micro_step(bool last) override {
    last_ = last;
    for (std::size_t s = 0; s < missing_.size(); ++s) missing_[s] = partition_.segment(s).units;
  }
  void open(std::size_t unit) override {
    if (!values_.is_narrow()) return;
    const auto fresh = working_.open(unit);
    std::fill(fresh.begin(), fresh.end(), 0.0F);
  }
  void close(std::size_t unit) override {
    if (values_.is_narrow()) {
      values_.add(partition_.whole_begin(unit), working_.at(unit));
      working_.close(unit);
    }
    const std::size_t segment = partition_.segment_of(unit);
    if (--missing_[segment] == 0 && last_ && overlap_) reduce(segment);
  }
  std::span<float> at(std::size_t unit) override {
    return values_.is_narrow()
               ? working_.at(unit)
               : values_.floats(partition_.whole_begin(unit), place_.layout.unit(unit).size);
  }
  void end_micro_step() override {
    if (!last_) return;
    for (std::size_t s = works_.size(); s-- > 0;) {
      if (!overlap_) reduce(s);
    }
    for (Pending& work : works_) work.wait(place_.watch);
  }

  std::span<const float> own(std::size_t segment, Extent part, std::span<float> scratch) override {
    const std::size_t skipped = part.begin - partition_.owned(segment).begin;
    const std::size_t from = partition_.own_block(segment) + skipped;
    if (!values_.is_narrow()) return values_.floats(from, part.size);
    values_.read(from, scratch.first(part.size));
    return scratch.first(part.size);
  }
  std::size_t later_bytes() const override {
    return values_.is_narrow() ? working_.most_bytes() : 0;
  }

 private:
  /// Reduces into this rank's own block, where it lies.
  void reduce(std::size_t segment) {
    const Segment& cut = partition_.segment(segment);
    works_[segment] = Pending(place_.watch, [&] {
      return place_.machine.reduce_scatter(place_.world, values_.at(cut.whole),
                                           values_.at(partition_.own_block(segment)), cut.block,
                                           values_.type(), ReduceOperator::avg);
    });
  }

  Workplace place_;
  const Partition& partition_;
  bool overlap_;
  Values values_;
  WorkingUnits working_;              ///< 16 bits only
  std::vector<std::size_t> missing_;  ///< units of a segment that backward has not left yet
  std::vector<Pending> works_;
  bool last_ = false;
};

}  // namespace

std::unique_ptr<Gradients> whole_gradients(const Workplace& place, const Partition& partition,
                                           const StrategyOptions& options) {
  return std::make_unique<Whole>(place, partition, options);
}

}  // namespace rondo::train
