#include "tools/trainer/strategy/storage.h"

#include <algorithm>

namespace rondo::train {

void Values::write(std::size_t begin, std::span<const float> from) {
  if (is_narrow()) return narrow(from, halves(begin, from.size()), precision_);
  bytes_.machine().write(from.data(), at(begin), from.size_bytes());
}

void Values::add(std::size_t begin, std::span<const float> terms) {
  const auto sum = halves(begin, terms.size());
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] = narrow(widen(sum[i], precision_) + terms[i], precision_);
}

void Values::add(std::size_t begin, Values& terms, std::size_t terms_begin, std::size_t count) {
  if (is_narrow()) {
    const auto from = terms.halves(terms_begin, count);
    const auto sum = halves(begin, count);
    for (std::size_t i = 0; i < count; ++i)
      sum[i] = narrow(widen(sum[i], precision_) + widen(from[i], precision_), precision_);
    return;
  }
  const auto sum = floats(begin, count);
  bytes_.machine().launch(
      make_call(Kernel::add,
                {buffer_of(sum), buffer_of(terms.floats(terms_begin, count)), buffer_of(sum)}),
      count, false);
}

Pool::Pool(Ledger& ledger, Use use, Precision precision, const std::vector<std::size_t>& sizes,
           std::size_t others)
    : taken_(sizes.size()) {
  if (sizes.empty()) return;
  first_.emplace_back(ledger, use, precision, sizes[0]);
  for (std::size_t i = 0; i < std::min(others, sizes.size() - 1); ++i)
    others_.emplace_back(ledger, use, precision, *std::max_element(sizes.begin() + 1, sizes.end()));
}

Storage::Storage(const Workplace& place, const Partition& partition, const StrategyOptions& options,
                 bool blocks_only, Use use, Use passing)
    : place_(place),
      partition_(partition),
      options_(options),
      blocks_only_(blocks_only),
      values_(place.ledger, use, options.precision,
              blocks_only ? partition.own_size() : partition.whole_size()),
      // The root's, one that is computed, and one on the wire meanwhile.
      buffers_(place.ledger, passing, options.precision,
               blocks_only ? partition.padded_sizes() : std::vector<std::size_t>(),
               options.overlap ? 2 : 1),
      open_(place.ledger, Use::working, Precision::float32,
            values_.is_narrow() ? place.layout.unit_sizes() : std::vector<std::size_t>(), 1),
      calls_(partition.segments().size()) {}

void Parameters::adopt(std::size_t unit, std::span<const float> values) {
  if (!blocks_only_) return values_.write(partition_.whole_begin(unit), values);
  const Extent owned = partition_.owned(unit);
  values_.write(own_begin(unit),
                values.subspan(owned.begin - partition_.segment(unit).begin, owned.size));
}

void Parameters::open(std::size_t unit, Pass pass) {
  const std::size_t segment = partition_.segment_of(unit);
  hide();
  if (blocks_only_ && buffers_[unit].empty()) gather(unit);
  calls_[segment].wait(place_.watch);
  if (blocks_only_ && options_.overlap) prefetch(unit, pass);
  if (!values_.is_narrow()) return;
  values_of(segment).read(begin_of(unit), open_unit(unit));
  if (blocks_only_) buffers_.give(unit);
}

void Parameters::close(std::size_t unit) {
  if (values_.is_narrow()) {
    open_.give(unit);
  } else if (blocks_only_) {
    buffers_.give(unit);
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
  if (blocks_only_) buffers_.take(segment);
  void* const into = values_of(segment).at(blocks_only_ ? 0 : cut.whole);
  calls_[segment] = Pending(place_, {Collective::all_gather, values_.at(own_begin(segment)), into,
                                     cut.block, values_.type()});
}

/// Gathers the unit that this pass opens after `unit`. Both begin with the root, which is unit 0. Forward
/// then ascends, backward descends.
void Parameters::prefetch(std::size_t unit, Pass pass) {
  const std::size_t end = place_.layout.units().size();
  const std::size_t descending = unit == 0 ? end - 1 : unit - 1;
  const std::size_t next = pass == Pass::forward ? unit + 1 : descending;
  if (next != 0 && next != end && buffers_[next].empty()) gather(next);
}

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
    buffers_.take(segment);
    buffers_[segment].zero();
  }
  if (!values_.is_narrow()) return;
  const auto fresh = open_unit(unit);
  std::fill(fresh.begin(), fresh.end(), 0.0F);
}

void Gradients::close(std::size_t unit) {
  const std::size_t segment = partition_.segment_of(unit);
  if (values_.is_narrow()) {
    values_of(segment).add(begin_of(unit), at(unit));
    open_.give(unit);
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
  buffers_.give(segment);
}

}  // namespace rondo::train
