#include "tools/trainer/strategy/working.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rondo::train {

std::span<float> WorkingUnits::open(std::size_t unit) {
  const std::size_t size = layout_->unit(unit).size;
  const auto fits = [&](const Array<float>& array) { return array.size() == size; };
  const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
  if (found == idle_.end()) {
    open_[unit] = Array<float>(*ledger_, Use::working, size);
  } else {
    open_[unit] = std::move(*found);
    idle_.erase(found);
  }
  return open_[unit].span();
}

void WorkingUnits::close(std::size_t unit) { idle_.push_back(std::exchange(open_[unit], {})); }

std::size_t WorkingUnits::most_bytes() const {
  const auto& units = layout_->units();
  std::size_t elements = units[0].size;
  std::set<std::size_t> sizes;
  for (std::size_t unit = 1; unit < units.size(); ++unit) {
    if (sizes.insert(units[unit].size).second) elements += units[unit].size;
  }
  return elements * sizeof(float);
}

}  // namespace rondo::train
