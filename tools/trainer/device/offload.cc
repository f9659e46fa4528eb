#include "tools/trainer/device/offload.h"

#include <algorithm>

#include "tools/trainer/device/device.h"

namespace rondo::train::device {
namespace {

/// Elements per piece. Long enough for a link's full speed, but short, since no step is taken
/// during the first and the last copy.
constexpr std::size_t piece_elements = std::size_t{1} << 18;

std::size_t extent(const Range& range, std::size_t begin) {
  return std::min(piece_elements, range.parameters.size() - begin);
}

}  // namespace

Offload::Slot::Slot(const Driver& driver)
    : gradients(take_pinned(driver, piece_elements * sizeof(float))), filled(driver) {}

Offload::Offload(const Device& device)
    : device_(device), slots_{Slot(device.driver()), Slot(device.driver())} {}

void Offload::fetch(const Range& range, std::size_t begin) const {
  const Slot& slot = slots_[begin / piece_elements % slots_.size()];
  const auto gradients = range.gradients.subspan(begin, extent(range, begin));
  device_.copy(gradients.data(), slot.gradients.get(), gradients.size_bytes(), device_.side());
  slot.filled.record(device_.side());
}

// The side stream copies gradients 0, gradients 1, new parameters 0, gradients 2, new parameters 1,
// ... So the gradients of piece i + 1 come while the host takes the step of piece i.
void Offload::update(const Optimizer& optimizer, const Range& range, const Step& step) const {
  const std::size_t size = range.parameters.size();
  if (size == 0) return;
  device_.follow();
  fetch(range, 0);
  for (std::size_t begin = 0; begin < size; begin += piece_elements) {
    if (begin + piece_elements < size) fetch(range, begin + piece_elements);
    const Slot& slot = slots_[begin / piece_elements % slots_.size()];
    slot.filled.finish();
    const std::size_t count = extent(range, begin);
    Range part = range.part(begin, count);
    part.gradients = {reinterpret_cast<const float*>(slot.gradients.get()), count};
    optimizer.update(host_machine(), part, step);
    device_.copy(part.parameters.data(), part.copies.data(), part.copies.size_bytes(),
                 device_.side());
  }
  device_.finish(device_.side());  // the next step changes the masters that are copied from
}

}  // namespace rondo::train::device
