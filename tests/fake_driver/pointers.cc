// What the driver says about addresses.
#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

/// Whether the current context's device may reach the address.
bool is_open_here(cuda::DevicePointer address) {
  int number = 0;
  return cuCtxGetDevice(&number) == cuda::success && is_open(address, number);
}

unsigned type_of(const std::optional<Owned>& owned) {
  constexpr unsigned host_memory = 1;
  if (!owned) return 0;
  return owned->device >= 0 ? cuda::device_memory : host_memory;
}

/// An address that is nobody's has no type and no device.
int tell(void* data, int attribute, cuda::DevicePointer address) {
  const std::optional<Owned> found = reachable(address, 1) ? owned_at(address) : std::nullopt;
  const Owned owned = found.value_or(Owned{});
  switch (attribute) {
    case cuda::attribute_memory_type:
      *static_cast<unsigned*>(data) = type_of(found);
      return cuda::success;
    case cuda::attribute_device_pointer:
      *static_cast<cuda::DevicePointer*>(data) =
          found ? owned.on_device + (address - owned.begin) : 0;
      return cuda::success;
    case cuda::attribute_device_ordinal:
      *static_cast<int*>(data) = owned.device;
      return cuda::success;
    case cuda::attribute_ipc_capable:
      *static_cast<int*>(data) = owned.shared ? 1 : 0;
      return cuda::success;
    case cuda::attribute_range_begin:
      *static_cast<cuda::DevicePointer*>(data) = owned.begin;
      return cuda::success;
    case cuda::attribute_range_bytes:
      *static_cast<std::size_t*>(data) = owned.bytes;
      return cuda::success;
    case cuda::attribute_access_flags:
      *static_cast<unsigned long long*>(data) = is_open_here(address) ? cuda::read_and_write : 0;
      return cuda::success;
    case cuda::attribute_managed:
      *static_cast<int*>(data) = owned.managed ? 1 : 0;
      return cuda::success;
    default:
      return invalid_value;
  }
}

}  // namespace

int device_number(cuda::DevicePointer address) {
  const std::optional<Owned> owned = owned_at(address);
  return owned ? owned->device : -1;
}

bool is_device(cuda::DevicePointer address) { return device_number(address) >= 0; }

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::DevicePointer;
using rondo::cuda::success;

extern "C" {

int cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
  if (const int status = enter("cuPointerGetAttribute")) return status;
  return reachable(pointer, 1) == nullptr ? invalid_value : tell(data, attribute, pointer);
}

int cuPointerGetAttributes(unsigned count, int* attributes, void** data, DevicePointer pointer) {
  if (const int status = enter("cuPointerGetAttributes")) return status;
  for (unsigned i = 0; i < count; ++i) {
    if (const int status = tell(data[i], attributes[i], pointer)) return status;
  }
  return success;
}

}  // extern "C"
