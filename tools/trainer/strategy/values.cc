#include "tools/trainer/strategy/values.h"

#include <algorithm>
#include <set>

namespace rondo::train {

Values::Values(Ledger& ledger, Use use, Precision precision, std::size_t count)
    : precision_(precision) {
  if (is_narrow()) {
    narrow_ = {ledger, use, count};
  } else {
    wide_ = {ledger, use, count};
  }
}

void Values::zero() {
  wide_.zero();
  narrow_.zero();
}

std::byte* Values::at(std::size_t index) {
  return is_narrow() ? reinterpret_cast<std::byte*>(narrow_.data() + index)
                     : reinterpret_cast<std::byte*>(wide_.data() + index);
}

void Values::read(std::size_t begin, std::span<float> into) const {
  widen(narrow_.span().subspan(begin, into.size()), into, precision_);
}

void Values::write(std::size_t begin, std::span<const float> from) {
  if (is_narrow()) {
    narrow(from, narrow_.span().subspan(begin, from.size()), precision_);
  } else {
    wide_.write(begin, from);
  }
}

void Values::add(std::size_t begin, std::span<const float> terms) {
  const auto sum = narrow_.span().subspan(begin, terms.size());
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] = narrow(widen(sum[i], precision_) + terms[i], precision_);
}

void Values::add(std::size_t begin, Values& terms, std::size_t terms_begin, std::size_t count) {
  if (!is_narrow()) {
    const auto sum = floats(begin, count);
    return wide_.machine().launch(
        make_call(Kernel::add,
                  {buffer_of(sum), buffer_of(terms.floats(terms_begin, count)), buffer_of(sum)}),
        count, false);
  }
  const auto from = terms.narrow_.span().subspan(terms_begin, count);
  const auto sum = narrow_.span().subspan(begin, count);
  for (std::size_t i = 0; i < count; ++i)
    sum[i] = narrow(widen(sum[i], precision_) + widen(from[i], precision_), precision_);
}

Values Pool::take(std::size_t count) {
  const auto fits = [&](const Values& values) { return values.size() == count; };
  const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
  if (found == idle_.end()) return {*ledger_, use_, precision_, count};
  Values taken = std::move(*found);
  idle_.erase(found);
  return taken;
}

std::size_t WorkingUnits::most_bytes() const {
  const auto& units = layout_.units();
  std::size_t elements = units[0].size;
  std::set<std::size_t> sizes;
  for (std::size_t unit = 1; unit < units.size(); ++unit) {
    if (sizes.insert(units[unit].size).second) elements += units[unit].size;
  }
  return elements * sizeof(float);
}

}  // namespace rondo::train
