// Counts beyond 2^31 elements: sizes and offsets are 64 bits wide everywhere.
#include <cstdint>
#include <fstream>
#include <string>

#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

constexpr std::size_t count = (std::size_t{1} << 31) + 12345;
constexpr int ranks = 2;

/// Kibibytes that could be had without swapping, as the kernel estimates.
std::size_t available_kib() {
  std::ifstream text("/proc/meminfo");
  std::string word;
  while (text >> word) {
    std::size_t kib = 0;
    if (word == "MemAvailable:" && text >> kib) return kib;
  }
  return 0;
}

/// Different at every place and on every rank, with sums that differ around 2^31 and 2^32.
std::uint8_t element(std::size_t i, int rank) {
  return static_cast<std::uint8_t>((i ^ (i >> 8) ^ (i >> 24)) * static_cast<std::size_t>(rank + 1));
}

TEST_CASE("an all-reduce of more than 2^31 elements, every one checked") {
  if (available_kib() < (ranks + 1) * count / 1024) {
    WARN("not run: this machine has too little free memory for " << ranks * (count >> 20)
                                                                 << " MiB of buffers");
    return;
  }
  test::with_world(ranks, {}, [](Communicator& comm) {
    std::vector<std::uint8_t> data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = element(i, comm.rank());
    comm.all_reduce(data.data(), data.data(), count, DataType::uint8);
    for (std::size_t i = 0; i < count; ++i) {
      if (data[i] != static_cast<std::uint8_t>(element(i, 0) + element(i, 1))) {
        throw std::runtime_error("wrong at element " + std::to_string(i));
      }
    }
  });
}

}  // namespace
}  // namespace rondo
