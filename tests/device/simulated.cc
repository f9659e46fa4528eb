#include "tests/device/simulated.h"

#include <cstring>

namespace rondo::device {
namespace test {
namespace {

/// Of this thread.
Simulated*& simulation() {
  static thread_local Simulated* simulation = nullptr;
  return simulation;
}

void read(const std::byte* at, std::span<std::byte> to, Ordering ordering, const Site& site) {
  if (simulation() != nullptr) return simulation()->read(at, to, ordering, site);
  std::memcpy(to.data(), at, to.size());
}
void write(std::byte* at, std::span<const std::byte> from, Ordering ordering, const Site& site) {
  if (simulation() != nullptr) return simulation()->write(at, from, ordering, site);
  std::memcpy(at, from.data(), from.size());
}

template <class Word>
Word load(const Word* word, Ordering ordering, const Site& site) {
  Word value = 0;
  read(reinterpret_cast<const std::byte*>(word), std::as_writable_bytes(std::span(&value, 1)),
       ordering, site);
  return value;
}
template <class Word>
void store(Word* word, Word value, Ordering ordering, const Site& site) {
  write(reinterpret_cast<std::byte*>(word), std::as_bytes(std::span(&value, 1)), ordering, site);
}

}  // namespace

InSimulation::InSimulation(Simulated& simulated) { simulation() = &simulated; }
InSimulation::~InSimulation() { simulation() = nullptr; }

void load_ordinary(const std::byte* at, std::span<std::byte> to) {
  read(at, to, Ordering::ordinary, Site::current());
}
void store_ordinary(std::byte* at, std::span<const std::byte> from) {
  write(at, from, Ordering::ordinary, Site::current());
}

}  // namespace test

using test::Ordering;

std::uint64_t load_acquire(const std::uint64_t* word, Site site) {
  return test::load(word, Ordering::ordered, site);
}
void store_release(std::uint64_t* word, std::uint64_t value, Site site) {
  test::store(word, value, Ordering::ordered, site);
}
std::uint64_t load_relaxed(const std::uint64_t* word) {
  return test::load(word, Ordering::relaxed, Site::current());
}
void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  test::store(word, value, Ordering::relaxed, Site::current());
}
std::uint32_t load_acquire_32(const std::uint32_t* word, Site site) {
  return test::load(word, Ordering::ordered, site);
}
void store_release_32(std::uint32_t* word, std::uint32_t value, Site site) {
  test::store(word, value, Ordering::ordered, site);
}
void store_relaxed_32(std::uint32_t* word, std::uint32_t value) {
  test::store(word, value, Ordering::relaxed, Site::current());
}
std::uint64_t count_up(std::uint64_t* word, Site site) {
  if (test::simulation() != nullptr) return test::simulation()->count_up(word, site);
  return (*word)++;
}
bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) {
  if (test::simulation() != nullptr) return test::simulation()->exchange_if(word, expected, value);
  const bool equal = *word == expected;
  if (equal) *word = value;
  return equal;
}
void pause(std::uint64_t /*looks*/) {
  if (test::simulation() != nullptr) test::simulation()->pause();
}

}  // namespace rondo::device
