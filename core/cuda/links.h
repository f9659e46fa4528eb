// How devices reach each other's memory: for messages to people, and to know which devices memory
// is opened to. It never decides which path a call takes. That depends on what the driver lets
// devices map, which is the same on every rank.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/cuda/api.h"

namespace rondo::cuda {

/// In the order of their speed.
enum class Reach {
  same,     ///< one device
  nvlink,   ///< a link that carries every atomic operation, as NVLink does and PCIe does not
  pcie,     ///< peer access without that
  none,     ///< only through the host's memory
  unknown,  ///< the driver does not say
};
/// "same device", "NVLink", "PCIe", "none", "unknown".
std::string_view name(Reach reach);

struct Link {
  Reach reach = Reach::unknown;
  /// The driver's own order among the links of a machine: 0 is the fastest; -1: it does not say.
  int rank = -1;
};

/// From `device`'s side; numbers as this process counts devices. Thread-safe; never throws.
Link link_between(int device, int peer) noexcept;

/// The device that has the memory at `pointer`, also memory that another process shares; -1: none.
int device_of(DevicePointer pointer) noexcept;

/// "NVLink", "NVLink and PCIe", "same device": every kind of link between any two of `devices`, the
/// slower ones later. A number may be there several times. "same device" for one alone.
std::string words_of_links(std::span<const int> devices);

}  // namespace rondo::cuda
