// What streams do to memory: who touches which bytes at the same time, and copies in random pieces.
#pragma once

#include <cstddef>
#include <vector>

namespace rondo::test {

/// Bytes that a piece of work touches, by the address at which the fake reaches them.
struct Touched {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

/// While it lives, a piece of work touches these bytes. Where another one touches some of them, too,
/// and one of the two writes, that is a race: see fake_races().
class Access {
 public:
  Access(const char* what, std::vector<Touched> touched);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  struct Running;
  friend struct Accesses;
  std::size_t number_ = 0;
};

/// Copies piece by piece in a random order, as a device may. FAKE_SEED chooses another order. Bytes
/// that are source and target in one are a race.
void copy_in_pieces(std::byte* target, const std::byte* source, std::size_t bytes);

}  // namespace rondo::test
