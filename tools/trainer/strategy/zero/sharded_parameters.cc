#include <algorithm>
#include <utility>
#include <vector>

#include "tools/trainer/strategy/working.h"
#include "tools/trainer/strategy/zero/parameters.h"
#include "tools/trainer/strategy/zero/pending.h"
#include "tools/trainer/strategy/zero/values.h"

namespace rondo::train {
namespace {

// Segments and units are the same here: the partition was made with one unit a segment.
class Sharded final : public Parameters {
 public:
  Sharded(const Workplace& place, const Partition& partition, const StrategyOptions& options)
      : place_(place),
        partition_(partition),
        overlap_(options.overlap),
        values_(place.ledger, Use::parameters, options.precision, partition.own_size()),
        pool_(place.ledger, Use::working, options.precision),
        working_(place.ledger, place.layout),
        gathered_(partition.segments().size()),
        visited_(partition.segments().size()) {}

  void adopt(std::size_t unit, std::span<const float> values) override {
    const Extent owned = partition_.owned(unit);
    const std::size_t from = owned.begin - partition_.segment(unit).begin;
    values_.write(partition_.segment(unit).own, values.subspan(from, owned.size));
  }

  void open(std::size_t unit, Pass pass) override {
    if (pass != pass_ || visited_[unit]) {  // another pass begins
      pass_ = pass;
      std::fill(visited_.begin(), visited_.end(), false);
    }
    gather(unit);
    gathered_[unit].work.wait(place_.watch);
    visited_[unit] = true;
    if (overlap_) prefetch();
    if (!values_.is_narrow()) return;
    gathered_[unit].values.read(0, working_.open(unit));
    free(unit);
  }
  void close(std::size_t unit) override { values_.is_narrow() ? working_.close(unit) : free(unit); }
  std::span<const float> at(std::size_t unit) override {
    return values_.is_narrow() ? working_.at(unit) : gathered_[unit].values.floats(0, size(unit));
  }

  std::span<float> own(std::size_t segment) override {
    return values_.floats(partition_.segment(segment).own, partition_.owned(segment).size);
  }
  void write_own(std::size_t segment, std::span<const float> master) override {
    values_.write(partition_.segment(segment).own, master);
  }
  void own_changed(std::size_t) override {}  // nobody holds a copy

  std::span<const std::byte> replica(std::size_t unit) override {
    if (shown_ != none) free(std::exchange(shown_, none));
    gather(unit);
    gathered_[unit].work.wait(place_.watch);
    shown_ = unit;
    return gathered_[unit].values.bytes(0, size(unit));
  }
  void settle() override {
    for (Gathered& unit : gathered_) unit.work.wait(place_.watch);
  }
  std::size_t later_bytes() const override {
    const std::size_t gathered = partition_.most_held() * size_of(values_.type());
    return gathered + (values_.is_narrow() ? working_.most_bytes() : 0);
  }

 private:
  struct Gathered {
    Values values{};  ///< empty: not gathered
    Pending work{};
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t size(std::size_t unit) const { return place_.layout.unit(unit).size; }

  void gather(std::size_t unit) {
    if (shown_ != none) free(std::exchange(shown_, none));
    Gathered& gathered = gathered_[unit];
    if (!gathered.values.empty()) return;
    const Segment& cut = partition_.segment(unit);
    gathered.values = pool_.take(partition_.padded(unit));
    gathered.work = Pending(place_.watch, [&] {
      return place_.machine.all_gather(place_.world, values_.at(cut.own), gathered.values.at(0),
                                       cut.block, values_.type());
    });
  }
  void free(std::size_t unit) { pool_.give(std::exchange(gathered_[unit].values, {})); }

  /// The unit that this pass opens next. Forward ascends, backward descends. In a GPT's backward
  /// the root comes first and is skipped later.
  void prefetch() {
    if (pass_ == Pass::forward) {
      const auto next = std::find(visited_.begin(), visited_.end(), false);
      if (next != visited_.end()) gather(static_cast<std::size_t>(next - visited_.begin()));
    } else {
      const auto next = std::find(visited_.rbegin(), visited_.rend(), false);
      if (next != visited_.rend()) gather(static_cast<std::size_t>(visited_.rend() - next) - 1);
    }
  }

  Workplace place_;
  const Partition& partition_;
  bool overlap_;
  Values values_;
  Pool pool_;
  WorkingUnits working_;  ///< 16 bits only
  std::vector<Gathered> gathered_;
  std::vector<bool> visited_;  ///< in this pass
  Pass pass_ = Pass::forward;
  std::size_t shown_ = none;  ///< gathered for replica() only
};

}  // namespace

std::unique_ptr<Parameters> sharded_parameters(const Workplace& place, const Partition& partition,
                                               const StrategyOptions& options) {
  return std::make_unique<Sharded>(place, partition, options);
}

}  // namespace rondo::train
