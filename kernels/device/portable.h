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

#ifdef RONDO_DEVICE_MEMORY  // a test's own memory: the accesses of this file, and of fences.h
#include RONDO_DEVICE_MEMORY
#endif

namespace rondo::device {

// Every ordinary access of memory that other threads reach, but for what nobody writes during a
// call, is one of these. fences.h has the others.

#ifndef RONDO_DEVICE_MEMORY
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
#endif

/// One value of a known type.
template <class T>
RONDO_DEVICE inline T load_plain(const T* at) {
  return load_vector<T>(reinterpret_cast<const std::byte*>(at));
}
template <class T>
RONDO_DEVICE inline void store_plain(T* at, const T& value) {
  store_vector(reinterpret_cast<std::byte*>(at), value);
}

RONDO_DEVICE inline bool is_aligned(const void* at, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

/// One element, byte by byte where it is not aligned.
template <class T>
RONDO_DEVICE inline T load_element(const std::byte* at) {
  if (is_aligned(at, sizeof(T))) return load_vector<T>(at);
  std::uint8_t bytes[sizeof(T)];
  RONDO_UNROLL
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = load_vector<std::uint8_t>(at + i);
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T>
RONDO_DEVICE inline void store_element(std::byte* at, const T& value) {
  if (is_aligned(at, sizeof(T))) return store_vector(at, value);
  std::uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  RONDO_UNROLL
  for (std::size_t i = 0; i < sizeof(T); ++i) store_vector(at + i, bytes[i]);
}

}  // namespace rondo::device
