#include "tools/trainer/strategy/gradients.h"

#include <algorithm>
#include <utility>

namespace rondo::train {

Gradients::Gradients(const Workplace& place, const Partition& partition,
                     const StrategyOptions& options, const StrategyInfo& info)
    : Storage(place, partition, options, info.shards_gradients, Use::gradients, Use::buckets),
      info_(info),
      compressor_(make_compressor(place, partition, options)),
      missing_(partition.segments().size()) {}

void Gradients::begin_micro_step(bool last) {
  syncs_ = last || blocks_only_ || options_.sync_every_micro_step;
  for (std::size_t s = 0; s < missing_.size(); ++s) missing_[s] = partition_.segment(s).units;
}

void Gradients::open(std::size_t unit) {
  const std::size_t segment = partition_.segment_of(unit);
  if (blocks_only_ && buffers_[segment].empty()) {
    take_buffer(segment);
    buffers_[segment].zero();
  }
  if (!values_.is_narrow()) return;
  const auto fresh = working_.open(unit);
  std::fill(fresh.begin(), fresh.end(), 0.0F);
}

void Gradients::close(std::size_t unit) {
  const std::size_t segment = partition_.segment_of(unit);
  if (values_.is_narrow()) {
    values_of(segment).add(begin_of(unit), working_.at(unit));
    working_.close(unit);
  }
  if (--missing_[segment] == 0 && syncs_ && (options_.overlap || blocks_only_)) reduce(segment);
}

void Gradients::end_micro_step() {
  if (!blocks_only_ && syncs_ && !options_.overlap) {
    for (std::size_t s = calls_.size(); s-- > 0;) reduce(s);
  }
  while (!started_.empty()) collect();
}

std::span<const float> Gradients::own(std::size_t segment, Extent part, std::span<float> scratch) {
  const std::size_t begin = own_begin(segment) + part.begin;
  if (!values_.is_narrow()) return values_.floats(begin, part.size);
  values_.read(begin, scratch.first(part.size));
  return scratch.first(part.size);
}

Collection Gradients::call_for(std::size_t segment) {
  if (compressor_) return compressor_->pack(segment, whole(segment));
  const Segment& cut = partition_.segment(segment);
  Values& values = values_of(segment);
  const std::size_t begin = blocks_only_ ? 0 : cut.whole;
  if (!info_.shards_state)
    return {Collective::all_reduce, values.at(begin), values.at(begin), cut.block, values.type()};
  return {Collective::reduce_scatter, values.at(begin),
          values.at(begin + partition_.rank() * cut.block), cut.block, values.type()};
}

/// Of scattered segments at most one stays on the wire while the next is computed. That keeps the
/// number of buffers small.
void Gradients::reduce(std::size_t segment) {
  calls_[segment] = Pending(place_, call_for(segment));
  started_.push_back(segment);
  const std::size_t in_flight = options_.overlap ? 1 : 0;
  while (blocks_only_ && started_.size() > in_flight) collect();
}

void Gradients::collect() {
  const std::size_t segment = started_.front();
  started_.pop_front();
  calls_[segment].wait(place_.watch);
  if (compressor_) compressor_->unpack(segment, whole(segment));
  if (!blocks_only_) return;
  const Segment& cut = partition_.segment(segment);
  values_.add(cut.own, buffers_[segment], partition_.rank() * cut.block, cut.block);
  give_buffer(segment);
}

}  // namespace rondo::train
