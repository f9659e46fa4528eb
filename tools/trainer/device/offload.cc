#include "tools/trainer/device/offload.h"

#include <algorithm>

namespace rondo::train::device {
namespace {

/// Elements per piece. Long enough for a link's full speed, but short, since no step is taken
/// during the first and the last copy.
constexpr std::size_t piece = std::size_t{1} << 18;

std::size_t extent(const Range& range, std::size_t begin) {
  return std::min(piece, range.parameters.size() - begin);
}

Range part_of(const Range& range, std::size_t begin, std::span<const float> gradients) {
  const std::size_t count = gradients.size();
  Range part{range.begin + begin, range.parameters.subspan(begin, count), gradients, {}, {}};
  for (const auto& state : range.states) part.states.push_back(state.subspan(begin, count));
  return part;
}

}  // namespace

Offload::Slot::Slot(const Driver& driver)
    : gradients(driver, piece * sizeof(float)), filled(driver) {}

Offload::Offload(const Device& device)
    : device_(device), slots_{Slot(device.driver()), Slot(device.driver())} {}

void Offload::fetch(const Range& range, std::size_t begin) const {
  const Slot& slot = slots_[begin / piece % slots_.size()];
  const auto gradients = range.gradients.subspan(begin, extent(range, begin));
  device_.copy(gradients.data(), slot.gradients.data(), gradients.size_bytes(), device_.side());
  device_.record(slot.filled, device_.side());
}

// The side stream copies gradients 0, gradients 1, new parameters 0, gradients 2, new parameters 1,
// ... So the gradients of piece i + 1 come while the host takes the step of piece i.
void Offload::update(const Optimizer& optimizer, const Range& range, const Step& step) const {
  const std::size_t size = range.parameters.size();
  if (size == 0) return;
  device_.follow(device_.side(), device_.compute());
  fetch(range, 0);
  for (std::size_t begin = 0; begin < size; begin += piece) {
    if (begin + piece < size) fetch(range, begin + piece);
    const Slot& slot = slots_[begin / piece % slots_.size()];
    slot.filled.finish();
    const std::size_t count = extent(range, begin);
    const Range part =
        part_of(range, begin, {reinterpret_cast<const float*>(slot.gradients.data()), count});
    optimizer.update(part, step);
    const auto copies = range.copies.subspan(begin, count);
    device_.copy(part.parameters.data(), copies.data(), copies.size_bytes(), device_.side());
  }
  device_.finish(device_.side());  // the next step changes the masters that are copied from
}

}  // namespace rondo::train::device
