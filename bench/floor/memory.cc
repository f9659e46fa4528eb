// Memory probes: how fast cores read and write, alone and all at once.
#include <array>
#include <cstring>

#include "bench/common/buffer.h"
#include "bench/floor/all_reduce.h"
#include "bench/floor/sources.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

constexpr std::size_t least_copied = std::size_t{64} << 10;  ///< copies of less show no bandwidth

struct Arrays {
  explicit Arrays(std::size_t bytes) : left(bytes), right(bytes), result(bytes) {
    // Zeros: read as floats, the guard pattern might give denormal sums.
    std::memset(left.data(), 0, bytes);
    std::memset(right.data(), 0, bytes);
  }

  void copy(bool streaming) {
    const std::array<void*, 1> outputs{result.data()};
    if (streaming) {
      rondo::copy(outputs, left.data(), left.size(), true);
    } else {
      std::memcpy(result.data(), left.data(), left.size());
    }
  }
  void add(bool streaming) {
    const std::array<void*, 1> outputs{result.data()};
    const std::array<const void*, 2> operands{left.data(), right.data()};
    reduce({.streaming = streaming}, outputs, operands, left.size() / sizeof(float));
  }

  Buffer left;
  Buffer right;
  Buffer result;
};

}  // namespace

Source memory_probes(const Member& member) {
  return {[&member](std::size_t bytes, std::vector<Probe>& probes) {
    if (bytes < least_copied) return;
    const auto arrays = std::make_shared<Arrays>(bytes);
    for (const bool all : {false, true}) {
      for (const bool streaming : {false, true}) {
        const bool works = all || member.rank() == 0;
        const std::string where =
            std::string(all ? ", all cores" : ", one core") + (streaming ? ", streaming" : "");
        const double size = static_cast<double>(bytes) * (all ? member.size() : 1);
        probes.push_back({"copy" + where,
                          bytes,
                          2 * size,
                          {.run = repeated([=] { arrays->copy(streaming); }, works)}});
        probes.push_back({"add" + where,
                          bytes,
                          3 * size,
                          {.run = repeated([=] { arrays->add(streaming); }, works)}});
      }
    }
  }};
}

}  // namespace rondo::bench
