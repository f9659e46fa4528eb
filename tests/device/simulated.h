// The memory of a simulation as a backend of kernels/device/fences.h and portable.h: what
// RONDO_DEVICE_MEMORY names in tests. A thread without a simulation has the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

namespace rondo::device {

/// Where device code makes an access, or meets its team. So one of them can be weakened.
using Site = std::source_location;

std::uint64_t load_acquire(const std::uint64_t* word, Site site = Site::current());
void store_release(std::uint64_t* word, std::uint64_t value, Site site = Site::current());
std::uint64_t load_relaxed(const std::uint64_t* word);
void store_relaxed(std::uint64_t* word, std::uint64_t value);
bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value);
std::uint32_t load_acquire_32(const std::uint32_t* word, Site site = Site::current());
void store_release_32(std::uint32_t* word, std::uint32_t value, Site site = Site::current());
void store_relaxed_32(std::uint32_t* word, std::uint32_t value);
std::uint64_t count_up(std::uint64_t* word, Site site = Site::current());
void pause(std::uint64_t looks = 0);

namespace test {

enum class Ordering { ordinary, relaxed, ordered };

/// What device code does while it is simulated. A simulation runs on one thread, so it needs no atomics.
class Simulated {
 public:
  Simulated() = default;
  virtual ~Simulated() = default;
  Simulated(const Simulated&) = delete;
  Simulated& operator=(const Simulated&) = delete;

  virtual void read(const std::byte* at, std::span<std::byte> to, Ordering ordering,
                    const Site& site) = 0;
  virtual void write(std::byte* at, std::span<const std::byte> from, Ordering ordering,
                     const Site& site) = 0;
  virtual bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) = 0;
  /// Ordered.
  virtual std::uint64_t count_up(std::uint64_t* word, const Site& site) = 0;
  /// Between two looks at a word that has not changed.
  virtual void pause() = 0;
};

/// Makes the calling thread one of a simulation's while it lives.
class InSimulation {
 public:
  explicit InSimulation(Simulated& simulated);
  ~InSimulation();
  InSimulation(const InSimulation&) = delete;
  InSimulation& operator=(const InSimulation&) = delete;
};

void load_ordinary(const std::byte* at, std::span<std::byte> to);
void store_ordinary(std::byte* at, std::span<const std::byte> from);

}  // namespace test

template <class V>
V load_vector(const std::byte* at) {
  V value;
  test::load_ordinary(at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
template <class V>
void store_vector(std::byte* at, const V& value) {
  test::store_ordinary(at, std::as_bytes(std::span(&value, 1)));
}

}  // namespace rondo::device
