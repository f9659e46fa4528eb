#include "bench/floor/memory.h"

#include <array>
#include <cstring>
#include <string>

#include "kernels/cpu/reduce.h"

namespace rondo::bench {

MemoryProbes::MemoryProbes(const Member& member, std::size_t largest)
    : member_(member), left_(largest), right_(largest), result_(largest) {
  // Zeros: read as floats, the guard pattern might give denormal sums.
  std::memset(left_.data(), 0, largest);
  std::memset(right_.data(), 0, largest);
}

void MemoryProbes::copy(std::size_t bytes, bool streaming) {
  const std::array<void*, 1> outputs{result_.data()};
  if (streaming) {
    rondo::copy(outputs, left_.data(), bytes, true);
  } else {
    std::memcpy(result_.data(), left_.data(), bytes);
  }
}

void MemoryProbes::sum(std::size_t bytes, bool streaming) {
  const std::array<void*, 1> outputs{result_.data()};
  const std::array<const void*, 2> operands{left_.data(), right_.data()};
  reduce({.streaming = streaming}, outputs, operands, bytes / sizeof(float));
}

void MemoryProbes::add(std::size_t bytes, std::vector<Probe>& probes) {
  for (const bool all : {false, true}) {
    for (const bool streaming : {false, true}) {
      const bool works = all || member_.rank() == 0;
      const double workers = all ? member_.size() : 1;
      const std::string where =
          std::string(all ? ", all cores" : ", one core") + (streaming ? ", streaming" : "");
      const double size = static_cast<double>(bytes) * workers;
      probes.push_back({"copy" + where, bytes, 2 * size, {.run = [=, this](int calls) {
                          for (int call = 0; works && call < calls; ++call) copy(bytes, streaming);
                        }}});
      probes.push_back({"add" + where, bytes, 3 * size, {.run = [=, this](int calls) {
                          for (int call = 0; works && call < calls; ++call) sum(bytes, streaming);
                        }}});
    }
  }
}

}  // namespace rondo::bench
