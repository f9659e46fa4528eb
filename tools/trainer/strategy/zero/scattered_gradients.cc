#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "tools/trainer/strategy/working.h"
#include "tools/trainer/strategy/zero/gradients.h"
#include "tools/trainer/strategy/zero/pending.h"
#include "tools/trainer/strategy/zero/values.h"

namespace rondo::train {
namespace {

class Scattered final : public Gradients {
 public:
  Scattered(const Workplace& place, const Partition& partition, const StrategyOptions& options)
      : place_(place),
        partition_(partition),
        in_flight_(options.overlap ? 1 : 0),
        sums_(place.ledger, Use::gradients, options.precision, partition.own_size()),
        pool_(place.ledger, Use::buckets, options.precision),
        working_(place.ledger, place.layout),
        buffers_(partition.segments().size()) {}

  void begin_step() override { sums_.zero(); }
  void begin_micro_step(bool) override {}
  void open(std::size_t unit) override {
    const std::size_t segment = partition_.segment_of(unit);
    Buffer& buffer = buffers_[segment];
    if (buffer.values.empty()) {
      buffer.values = pool_.take(partition_.padded(segment));
      buffer.values.zero();
      buffer.missing = partition_.segment(segment).units;
    }
    if (!sums_.is_narrow()) return;
    const auto fresh = working_.open(unit);
    std::fill(fresh.begin(), fresh.end(), 0.0F);
  }
  void close(std::size_t unit) override {
    const std::size_t segment = partition_.segment_of(unit);
    Buffer& buffer = buffers_[segment];
    if (sums_.is_narrow()) {
      buffer.values.write(partition_.offset_in_segment(unit), working_.at(unit));
      working_.close(unit);
    }
    if (--buffer.missing == 0) reduce(segment);
  }
  std::span<float> at(std::size_t unit) override {
    if (sums_.is_narrow()) return working_.at(unit);
    return buffers_[partition_.segment_of(unit)].values.floats(partition_.offset_in_segment(unit),
                                                               place_.layout.unit(unit).size);
  }
  void end_micro_step() override {
    while (!started_.empty()) collect();
  }

  std::span<const float> own(std::size_t segment, Extent part, std::span<float> scratch) override {
    const std::size_t skipped = part.begin - partition_.owned(segment).begin;
    const std::size_t from = partition_.segment(segment).own + skipped;
    if (!sums_.is_narrow()) return sums_.floats(from, part.size);
    sums_.read(from, scratch.first(part.size));
    return scratch.first(part.size);
  }
  std::size_t later_bytes() const override {
    const std::size_t buffers = partition_.most_held() * size_of(sums_.type());
    return buffers + (sums_.is_narrow() ? working_.most_bytes() : 0);
  }

 private:
  struct Buffer {
    Values values{};  ///< empty: backward has not entered the segment
    std::size_t missing = 0;
    Pending work{};
  };

  std::size_t own_in_buffer(std::size_t segment) const {
    return partition_.rank() * partition_.segment(segment).block;
  }

  /// At most one segment stays on the wire while the next is computed. That keeps the number of
  /// buffers small.
  void reduce(std::size_t segment) {
    Buffer& buffer = buffers_[segment];
    buffer.work = Pending(place_.watch, [&] {
      return place_.machine.reduce_scatter(
          place_.world, buffer.values.at(0), buffer.values.at(own_in_buffer(segment)),
          partition_.segment(segment).block, sums_.type(), ReduceOperator::avg);
    });
    started_.push_back(segment);
    while (started_.size() > in_flight_) collect();
  }
  void collect() {
    const std::size_t segment = started_.front();
    started_.pop_front();
    Buffer& buffer = buffers_[segment];
    buffer.work.wait(place_.watch);
    const Segment& cut = partition_.segment(segment);
    if (sums_.is_narrow()) {
      sums_.add(cut.own, buffer.values, own_in_buffer(segment), cut.block);
    } else {
      const auto sum = sums_.floats(cut.own, cut.block);
      place_.machine.math().add(sum, buffer.values.floats(own_in_buffer(segment), cut.block), sum);
    }
    pool_.give(std::exchange(buffer.values, {}));
  }

  Workplace place_;
  const Partition& partition_;
  std::size_t in_flight_;
  Values sums_;  ///< over the micro-steps
  Pool pool_;
  WorkingUnits working_;  ///< 16 bits only
  std::vector<Buffer> buffers_;
  std::deque<std::size_t> started_{};  ///< segments, in the order of their calls
};

}  // namespace

std::unique_ptr<Gradients> scattered_gradients(const Workplace& place, const Partition& partition,
                                               const StrategyOptions& options) {
  return std::make_unique<Scattered>(place, partition, options);
}

}  // namespace rondo::train
