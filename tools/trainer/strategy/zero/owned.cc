#include "tools/trainer/strategy/zero/owned.h"

#include <algorithm>

namespace rondo::train {

Owned::Owned(const Workplace& place, const Partition& partition, const StrategyOptions& options,
             Parameters& parameters, Gradients& gradients)
    : place_(place),
      partition_(partition),
      precision_(options.precision),
      offload_(options.offload),
      parameters_(parameters),
      gradients_(gradients) {
  const std::size_t size = partition.own_size();
  if (has_master()) master_ = {place.ledger, Use::master, size};
  if (is_narrow()) {
    constexpr std::size_t longest_run = 1U << 16;
    run_ = {place.ledger, Use::working, std::min(size, longest_run)};
  }
  for (std::size_t state = 0; state < place.optimizer.states(); ++state) {
    states_.emplace_back(place.ledger, Use::optimizer, size);
  }
}

void Owned::adopt(std::size_t unit, std::span<const float> values) {
  if (!has_master()) return;
  const std::size_t segment = partition_.segment_of(unit);
  const Extent owned = partition_.owned(segment);
  const std::size_t unit_begin = place_.layout.unit(unit).begin;
  const std::size_t begin = std::max(owned.begin, unit_begin);
  const std::size_t end = std::min(owned.begin + owned.size, unit_begin + values.size());
  if (begin >= end) return;
  const auto from = values.subspan(begin - unit_begin, end - begin);
  master_.write(partition_.segment(segment).own + begin - owned.begin, from);
}

std::span<float> Owned::master(std::size_t segment) {
  if (!has_master()) return parameters_.own(segment);
  return master_.span().subspan(partition_.segment(segment).own, partition_.owned(segment).size);
}

Range Owned::range(std::size_t segment) {
  const Extent owned = partition_.owned(segment);
  Range range{owned.begin, master(segment), {}, {}};
  for (auto& state : states_) {
    range.states.push_back(state.span().subspan(partition_.segment(segment).own, owned.size));
  }
  return range;
}

template <class Visit>
void Owned::each_run(std::size_t segment, Visit visit) {
  const Extent owned = partition_.owned(segment);
  const std::size_t longest = is_narrow() ? run_.size() : owned.size;
  for (std::size_t done = 0; done < owned.size; done += longest) {
    const Extent part{owned.begin + done, std::min(longest, owned.size - done)};
    visit(done, gradients_.own(segment, part, run_.span()));
  }
}

double Owned::sum_of_squared_gradients() {
  double squares = 0;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    each_run(segment, [&](std::size_t, std::span<const float> gradients) {
      squares += place_.machine.sum_of_squares(gradients);
    });
  }
  return squares;
}

void Owned::update(const Step& step) {
  const bool copies = has_master() && !is_narrow();
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    const Range whole = range(segment);
    each_run(segment, [&](std::size_t done, std::span<const float> gradients) {
      Range run{
          whole.begin + done, whole.parameters.subspan(done, gradients.size()), gradients, {}};
      for (const auto& state : whole.states) {
        run.states.push_back(state.subspan(done, gradients.size()));
      }
      if (copies) run.copies = parameters_.own(segment).subspan(done, gradients.size());
      place_.machine.update(place_.optimizer, run, step);
    });
    publish(segment, copies);
  }
}

void Owned::publish(std::size_t segment, bool copied) {
  if (is_narrow()) {
    parameters_.write_own(segment, master(segment));
  } else if (has_master() && !copied) {
    place_.machine.write(std::span<const float>(master(segment)), parameters_.own(segment));
  }
  parameters_.own_changed(segment);
}

std::vector<Range> Owned::shards() {
  std::vector<Range> shards;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    if (partition_.owned(segment).size > 0) shards.push_back(range(segment));
  }
  return shards;
}

void Owned::shards_changed() {
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    publish(segment, false);
  }
}

}  // namespace rondo::train
