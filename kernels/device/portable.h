// Lets one source be device code under nvcc and ordinary C++ elsewhere.
//
// The logic of the device executor is written once. nvcc compiles it for the device. Other
// compilers compile it for the host, where threads play the lanes of a block and the tests run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define RONDO_DEVICE __device__
/// Before a loop over an array that has to lie in registers: they have no addresses to count up.
#define RONDO_UNROLL _Pragma("unroll")
#else
#define RONDO_DEVICE
#define RONDO_UNROLL
#endif

namespace rondo::device {

/// One whole vector from memory that is aligned to it: a single access on the device.
template <class V>
RONDO_DEVICE inline V load_vector(const std::byte* at) {
#ifdef __CUDACC__
  return *reinterpret_cast<const V*>(at);
#else
  V value;
  std::memcpy(&value, at, sizeof(V));
  return value;
#endif
}
template <class V>
RONDO_DEVICE inline void store_vector(std::byte* at, const V& value) {
#ifdef __CUDACC__
  *reinterpret_cast<V*>(at) = value;
#else
  std::memcpy(at, &value, sizeof(V));
#endif
}

RONDO_DEVICE inline bool is_aligned(const void* at, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

}  // namespace rondo::device
