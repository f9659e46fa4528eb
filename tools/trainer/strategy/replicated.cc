#include "tools/trainer/strategy/replicated.h"

#include <algorithm>

namespace rondo::train {

Replica::Replica(const Workplace& place, const StrategyOptions& options)
    : layout_(place.layout),
      machine_(place.machine),
      precision_(options.precision),
      open_parameters_(place.ledger, place.layout),
      open_gradients_(place.ledger, place.layout) {
  const std::size_t size = layout_.size();
  if (narrow_()) {
    constexpr std::size_t longest_run = 1U << 16;
    narrow_parameters_ = {place.ledger, Use::parameters, size};
    narrow_gradients_ = {place.ledger, Use::gradients, size};
    master_ = {place.ledger, Use::master, size};
    run_ = {place.ledger, Use::working, std::min(size, longest_run)};
  } else {
    parameters_ = {place.ledger, Use::parameters, size};
    gradients_ = {place.ledger, Use::gradients, size};
    if (options.offload) master_ = {place.ledger, Use::master, size};
  }
}

void Replica::adopt(std::size_t unit, std::span<const float> values) {
  const std::size_t begin = layout_.unit(unit).begin;
  if (!master_.empty()) master_.write(begin, values);
  if (narrow_()) {
    narrow(values, part(narrow_parameters_.span(), unit), precision_);
  } else {
    parameters_.write(begin, values);
  }
}

void Replica::open(std::size_t unit) {
  if (narrow_()) {
    widen(part(narrow_parameters_.span(), unit), open_parameters_.open(unit), precision_);
  }
}

void Replica::close(std::size_t unit) {
  if (narrow_()) open_parameters_.close(unit);
}

void Replica::open_gradients(std::size_t unit) {
  if (!narrow_()) return;
  const auto sum = open_gradients_.open(unit);
  std::fill(sum.begin(), sum.end(), 0.0F);
}

void Replica::close_gradients(std::size_t unit) {
  if (!narrow_()) return;
  const auto fresh = open_gradients_.at(unit);
  const auto sum = part(narrow_gradients_.span(), unit);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = train::narrow(train::widen(sum[i], precision_) + fresh[i], precision_);
  }
  open_gradients_.close(unit);
}

std::span<const float> Replica::parameters(std::size_t unit) {
  return narrow_() ? open_parameters_.at(unit) : part(parameters_.span(), unit);
}

std::span<float> Replica::gradients(std::size_t unit) {
  return narrow_() ? open_gradients_.at(unit) : part(gradients_.span(), unit);
}

void Replica::clear_gradients() {
  gradients_.zero();
  narrow_gradients_.zero();
}

void* Replica::gradient_bytes() {
  if (narrow_()) return narrow_gradients_.data();
  return gradients_.data();
}

void Replica::master_changed() {
  if (narrow_()) {
    narrow(master_.span(), narrow_parameters_.span(), precision_);
  } else if (offloaded()) {
    machine_.write(std::span<const float>(master_.span()), parameters_.span());
  }
}

std::span<const std::byte> Replica::bytes(std::size_t unit) const {
  return narrow_() ? std::as_bytes(part(narrow_parameters_.span(), unit))
                   : std::as_bytes(part(parameters_.span(), unit));
}

}  // namespace rondo::train
