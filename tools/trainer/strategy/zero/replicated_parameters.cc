#include <vector>

#include "tools/trainer/strategy/working.h"
#include "tools/trainer/strategy/zero/parameters.h"
#include "tools/trainer/strategy/zero/pending.h"
#include "tools/trainer/strategy/zero/values.h"

namespace rondo::train {
namespace {

class Replicated final : public Parameters {
 public:
  Replicated(const Workplace& place, const Partition& partition, const StrategyOptions& options)
      : place_(place),
        partition_(partition),
        overlap_(options.overlap),
        values_(place.ledger, Use::parameters, options.precision, partition.whole_size()),
        working_(place.ledger, place.layout),
        gathers_(partition.segments().size()) {}

  void adopt(std::size_t unit, std::span<const float> values) override {
    values_.write(partition_.whole_begin(unit), values);
  }
  void open(std::size_t unit, Pass) override {
    gathers_[partition_.segment_of(unit)].wait(place_.watch);
    if (values_.is_narrow()) values_.read(partition_.whole_begin(unit), working_.open(unit));
  }
  void close(std::size_t unit) override {
    if (values_.is_narrow()) working_.close(unit);
  }
  std::span<const float> at(std::size_t unit) override {
    return values_.is_narrow() ? working_.at(unit)
                               : values_.floats(partition_.whole_begin(unit), size(unit));
  }

  std::span<float> own(std::size_t segment) override {
    return values_.floats(partition_.own_block(segment), partition_.owned(segment).size);
  }
  void write_own(std::size_t segment, std::span<const float> master) override {
    values_.write(partition_.own_block(segment), master);
  }
  void own_changed(std::size_t segment) override {
    const Segment& cut = partition_.segment(segment);
    gathers_[segment] = Pending(place_.watch, [&] {
      return place_.machine.all_gather(place_.world, values_.at(partition_.own_block(segment)),
                                       values_.at(cut.whole), cut.block, values_.type());
    });
    if (!overlap_) gathers_[segment].wait(place_.watch);
  }

  std::span<const std::byte> replica(std::size_t unit) override {
    gathers_[partition_.segment_of(unit)].wait(place_.watch);
    return values_.bytes(partition_.whole_begin(unit), size(unit));
  }
  void settle() override {
    for (Pending& gather : gathers_) gather.wait(place_.watch);
  }
  std::size_t later_bytes() const override {
    return values_.is_narrow() ? working_.most_bytes() : 0;
  }

 private:
  std::size_t size(std::size_t unit) const { return place_.layout.unit(unit).size; }
  Workplace place_;
  const Partition& partition_;
  bool overlap_;
  Values values_;
  WorkingUnits working_;  ///< 16 bits only
  std::vector<Pending> gathers_;
};

}  // namespace

std::unique_ptr<Parameters> replicated_parameters(const Workplace& place,
                                                  const Partition& partition,
                                                  const StrategyOptions& options) {
  return std::make_unique<Replicated>(place, partition, options);
}

}  // namespace rondo::train
