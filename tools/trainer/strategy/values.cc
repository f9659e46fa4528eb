#include "tools/trainer/strategy/values.h"

#include <algorithm>
#include <utility>

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

Values Pool::take(std::size_t count) {
  const auto fits = [&](const Values& values) { return values.size() == count; };
  const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
  if (found == idle_.end()) return {*ledger_, use_, precision_, count};
  Values taken = std::move(*found);
  idle_.erase(found);
  return taken;
}

}  // namespace rondo::train
