#include "tools/rondo/calibrate/trials.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/reduce.h"

namespace rondo::tool {
namespace {

constexpr auto f32 = DataType::float32;

std::size_t floats(double bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }

/// With fewer bytes, reading the clock would be much of what is measured.
constexpr double least_refreshed = 32 << 10;

/// A trial that writes its operand anew before each call. The data that peers read must come from
/// this rank's cache, as in programs that compute.
bench::Trial refreshed(bench::Trial trial, double bytes, float* begin, std::size_t count) {
  if (bytes >= least_refreshed)
    trial.refresh = [begin, count, value = 0.0F]() mutable {
      value = value > 1000 ? 0.0F : value + 1;
      std::fill_n(begin, count, value);
    };
  return trial;
}

}  // namespace

bench::Trial ping_pong(Communicator& world, Buffers& buffers, double bytes) {
  const int peer = world.rank() ^ 1;
  const std::size_t count = floats(bytes);
  return bench::repeated("ping-pong", [&world, &buffers, peer, count] {
    if (peer >= world.size()) return;
    if (world.rank() < peer) world.send(buffers.input.data(), count, f32, peer);
    world.recv(buffers.output.data(), count, f32, peer);
    if (world.rank() > peer) world.send(buffers.input.data(), count, f32, peer);
  });
}

bench::Trial gather_all(Communicator& world, Buffers& buffers, double bytes) {
  const std::size_t block = floats(bytes / world.size());
  float* const own = buffers.output.data() + block * static_cast<std::size_t>(world.rank());
  auto trial = bench::repeated("all_gather", [&world, &buffers, own, block] {
    world.all_gather(own, buffers.output.data(), block, f32);
  });
  return refreshed(std::move(trial), bytes, own, block);
}

bench::Trial scatter_all(Communicator& world, Buffers& buffers, double bytes) {
  const std::size_t block = floats(bytes / world.size());
  auto trial = bench::repeated("reduce_scatter", [&world, &buffers, block] {
    world.reduce_scatter(buffers.input.data(), buffers.output.data(), block, f32);
  });
  return refreshed(std::move(trial), bytes, buffers.input.data(),
                   block * static_cast<std::size_t>(world.size()));
}

bench::Trial all_reduce(Communicator& world, Buffers& buffers, double bytes) {
  const std::size_t count = floats(bytes);
  auto trial = bench::repeated("all_reduce", [&world, &buffers, count] {
    world.all_reduce(buffers.input.data(), buffers.output.data(), count, f32);
  });
  return refreshed(std::move(trial), bytes, buffers.input.data(), count);
}

bench::Trial copies(Buffers& buffers, double bytes, bool streaming) {
  const auto length = static_cast<std::size_t>(bytes);
  return bench::repeated("copy", [&buffers, length, streaming] {
    void* const to = buffers.output.data();
    copy({&to, 1}, buffers.input.data(), length, streaming);
  });
}

bench::Trial reduces(Buffers& buffers, double bytes, const Combination& how) {
  const std::size_t count = static_cast<std::size_t>(bytes) / size_of(how.type);
  return bench::repeated("reduce", [&buffers, count, how] {
    const std::array<const void*, 2> operands{buffers.input.data(), buffers.other.data()};
    void* const to = buffers.output.data();
    reduce(how, {&to, 1}, operands, count);
  });
}

}  // namespace rondo::tool
