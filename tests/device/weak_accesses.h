// The weak memory as a backend of kernels/device/fences.h and portable.h: what
// RONDO_DEVICE_MEMORY names in tests. A thread that weak_run.h does not run has the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace rondo::device {

/// Where device code makes an access, or meets its team. So one of them can be weakened.
using Site = std::source_location;

std::uint64_t load_acquire(const std::uint64_t* word, Site site = Site::current());
void store_release(std::uint64_t* word, std::uint64_t value, Site site = Site::current());
std::uint64_t load_relaxed(const std::uint64_t* word);
void store_relaxed(std::uint64_t* word, std::uint64_t value);
bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value);
void pause();

namespace test {
void load_ordinary(const std::byte* at, std::byte* to, std::size_t bytes);
void store_ordinary(std::byte* at, const std::byte* from, std::size_t bytes);
}  // namespace test

template <class V>
V load_vector(const std::byte* at) {
  V value;
  test::load_ordinary(at, reinterpret_cast<std::byte*>(&value), sizeof(V));
  return value;
}
template <class V>
void store_vector(std::byte* at, const V& value) {
  test::store_ordinary(at, reinterpret_cast<const std::byte*>(&value), sizeof(V));
}

}  // namespace rondo::device
