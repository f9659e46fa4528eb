#include "core/cuda/links.h"

#include <array>
#include <set>

#include "core/cuda/driver.h"

namespace rondo::cuda {
namespace {

/// -1 where the driver does not say.
int attribute_of(int attribute, int device, int peer) {
  const Driver* const driver = find_driver();
  int value = -1;
  if (driver == nullptr || driver->device_get_p2p_attribute == nullptr) return -1;
  const int status = driver->device_get_p2p_attribute(&value, attribute, device, peer);
  return status == success ? value : -1;
}

std::string joined(const std::set<Reach>& found) {
  std::string words;
  for (const Reach reach : found) {
    if (!words.empty()) words += reach == *found.rbegin() ? " and " : ", ";
    words += name(reach);
  }
  return words;
}

}  // namespace

std::string_view name(Reach reach) {
  constexpr std::array<std::string_view, 5> names{"same device", "NVLink", "PCIe", "none",
                                                  "unknown"};
  return names[static_cast<std::size_t>(reach)];
}

Link link_between(int device, int peer) noexcept {
  if (device == peer) return {Reach::same, 0};  // the driver does not answer for this case
  const int access = attribute_of(p2p_access_supported, device, peer);
  if (access < 0) return {};
  const int rank = attribute_of(p2p_performance_rank, device, peer);
  if (access == 0) return {Reach::none, rank};
  const bool atomic = attribute_of(p2p_native_atomic_supported, device, peer) > 0;
  return {atomic ? Reach::nvlink : Reach::pcie, rank};
}

int device_of(DevicePointer pointer) noexcept {
  return pointer_attribute<int>(attribute_device_ordinal, pointer).value_or(-1);
}

std::string words_of_links(std::span<const int> devices) {
  std::set<Reach> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) found.insert(link_between(devices[i], devices[j]).reach);
  }
  return found.empty() ? std::string(name(Reach::same)) : joined(found);
}

}  // namespace rondo::cuda
