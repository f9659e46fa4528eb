#include "tools/trainer/strategy/parameters.h"

#include <algorithm>

namespace rondo::train {

Parameters::Parameters(const Workplace& place, const Partition& partition,
                       const StrategyOptions& options, const StrategyInfo& info)
    : place_(place),
      partition_(partition),
      sharded_(info.shards_parameters),
      overlap_(options.overlap),
      values_(place.ledger, Use::parameters, options.precision,
              sharded_ ? partition.own_size() : partition.whole_size()),
      pool_(place.ledger, Use::working, options.precision),
      working_(place.ledger, place.layout),
      gathered_(partition.segments().size()),
      gathers_(partition.segments().size()),
      visited_(partition.segments().size()) {}

void Parameters::adopt(std::size_t unit, std::span<const float> values) {
  if (!sharded_) return values_.write(partition_.whole_begin(unit), values);
  const Extent owned = partition_.owned(unit);
  values_.write(own_begin(unit),
                values.subspan(owned.begin - partition_.segment(unit).begin, owned.size));
}

void Parameters::open(std::size_t unit, Pass pass) {
  hide();
  if (sharded_) {
    if (pass != pass_ || visited_[unit]) {  // another pass begins
      pass_ = pass;
      std::fill(visited_.begin(), visited_.end(), false);
    }
    if (gathered_[unit].empty()) gather(unit);
  }
  gathers_[partition_.segment_of(unit)].wait(place_.watch);
  if (sharded_) {
    visited_[unit] = true;
    if (overlap_) prefetch();
  }
  if (!values_.is_narrow()) return;
  values_of(unit).read(begin_of(unit), working_.open(unit));
  if (sharded_) release(unit);
}

void Parameters::close(std::size_t unit) {
  if (values_.is_narrow()) {
    working_.close(unit);
  } else if (sharded_) {
    release(unit);
  }
}

std::span<const float> Parameters::at(std::size_t unit) {
  if (values_.is_narrow()) return working_.at(unit);
  return values_of(unit).floats(begin_of(unit), size(unit));
}

void Parameters::own_changed(std::size_t segment) {
  if (sharded_ || partition_.ranks() == 1) return;  // nobody holds a copy
  gather(segment);
  if (!overlap_) gathers_[segment].wait(place_.watch);
}

std::span<const std::byte> Parameters::replica(std::size_t unit) {
  hide();
  if (sharded_ && gathered_[unit].empty()) {
    gather(unit);
    shown_ = unit;
  }
  gathers_[partition_.segment_of(unit)].wait(place_.watch);
  return values_of(unit).bytes(begin_of(unit), size(unit));
}

void Parameters::settle() {
  for (Pending& gather : gathers_) gather.wait(place_.watch);
}

std::size_t Parameters::later_bytes() const {
  return (sharded_ ? partition_.most_held() * size_of(values_.type()) : 0) +
         (values_.is_narrow() ? working_.most_bytes() : 0);
}

void Parameters::gather(std::size_t segment) {
  const Segment& cut = partition_.segment(segment);
  if (sharded_) gathered_[segment] = pool_.take(partition_.padded(segment));
  void* const into = sharded_ ? gathered_[segment].at(0) : values_.at(cut.whole);
  gathers_[segment] = Pending(place_, {Collective::all_gather, values_.at(own_begin(segment)), into,
                                       cut.block, values_.type()});
}

/// Gathers the unit that this pass opens next. Forward ascends, backward descends. In a GPT's
/// backward the root comes first and is skipped later.
void Parameters::prefetch() {
  std::size_t next = visited_.size();
  if (pass_ == Pass::forward) {
    const auto found = std::find(visited_.begin(), visited_.end(), false);
    next = static_cast<std::size_t>(found - visited_.begin());
  } else {
    const auto found = std::find(visited_.rbegin(), visited_.rend(), false);
    if (found != visited_.rend()) next = static_cast<std::size_t>(visited_.rend() - found) - 1;
  }
  if (next < visited_.size() && gathered_[next].empty()) gather(next);
}

}  // namespace rondo::train
