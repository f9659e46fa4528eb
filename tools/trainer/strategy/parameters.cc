#include "tools/trainer/strategy/parameters.h"

#include <algorithm>

namespace rondo::train {

void Parameters::adopt(std::size_t unit, std::span<const float> values) {
  if (!blocks_only_) return values_.write(partition_.whole_begin(unit), values);
  const Extent owned = partition_.owned(unit);
  values_.write(own_begin(unit),
                values.subspan(owned.begin - partition_.segment(unit).begin, owned.size));
}

void Parameters::open(std::size_t unit, Pass pass) {
  const std::size_t segment = partition_.segment_of(unit);
  hide();
  if (blocks_only_) {
    if (pass != pass_ || visited_[unit]) {  // another pass begins
      pass_ = pass;
      std::fill(visited_.begin(), visited_.end(), false);
    }
    if (buffers_[unit].empty()) gather(unit);
  }
  calls_[segment].wait(place_.watch);
  if (blocks_only_) {
    visited_[unit] = true;
    if (options_.overlap) prefetch();
  }
  if (!values_.is_narrow()) return;
  values_of(segment).read(begin_of(unit), working_.open(unit));
  if (blocks_only_) give_buffer(unit);
}

void Parameters::close(std::size_t unit) {
  if (values_.is_narrow()) {
    working_.close(unit);
  } else if (blocks_only_) {
    give_buffer(unit);
  }
}

void Parameters::own_changed(std::size_t segment) {
  if (blocks_only_ || partition_.ranks() == 1) return;  // nobody holds a copy
  gather(segment);
  if (!options_.overlap) calls_[segment].wait(place_.watch);
}

std::span<const std::byte> Parameters::replica(std::size_t unit) {
  const std::size_t segment = partition_.segment_of(unit);
  hide();
  if (blocks_only_ && buffers_[unit].empty()) {
    gather(unit);
    shown_ = unit;
  }
  calls_[segment].wait(place_.watch);
  return values_of(segment).bytes(begin_of(unit), place_.layout.unit(unit).size);
}

void Parameters::settle() {
  for (Pending& call : calls_) call.wait(place_.watch);
}

void Parameters::gather(std::size_t segment) {
  const Segment& cut = partition_.segment(segment);
  if (blocks_only_) take_buffer(segment);
  void* const into = values_of(segment).at(blocks_only_ ? 0 : cut.whole);
  calls_[segment] = Pending(place_, {Collective::all_gather, values_.at(own_begin(segment)), into,
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
  if (next < visited_.size() && buffers_[next].empty()) gather(next);
}

}  // namespace rondo::train
