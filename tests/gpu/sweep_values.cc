#include "tests/gpu/sweep_values.h"

#include <algorithm>
#include <cstring>

#include "tests/nccl/device.h"

namespace rondo::gpu_test {
namespace {

using test::expect_cuda;

constexpr std::size_t period = 1009;  // a prime: no block of a call is whole periods
constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr int poison_byte = 0xff;

float value(std::size_t rank, std::size_t element) {
  return static_cast<float>(element % period + 1000 * rank);
}

std::size_t differing(const float* got, const float* wanted, std::size_t count) {
  if (std::memcmp(got, wanted, count * sizeof(float)) == 0) return 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += got[i] == wanted[i] ? 0 : 1;
  return wrong;
}

std::size_t touched(const float* got, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(got);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count * sizeof(float); ++i) wrong += bytes[i] == poison_byte ? 0 : 1;
  return wrong;
}

}  // namespace

DeviceFloats::DeviceFloats(std::size_t count) : count_(count) {
  expect_cuda(cuMemAlloc_v2(&address_, std::max<std::size_t>(count, 1) * sizeof(float)));
}

DeviceFloats::~DeviceFloats() { cuMemFree_v2(address_); }

Values::Values(int ranks) {
  const auto number = static_cast<std::size_t>(ranks);
  patterns_.assign(number + 1, std::vector<float>(chunk + period));
  for (std::size_t i = 0; i < chunk + period; ++i) {
    for (std::size_t rank = 0; rank < number; ++rank) {
      patterns_[rank][i] = value(rank, i);
      patterns_[number][i] += patterns_[rank][i];
    }
  }
}

const float* Values::from(std::size_t which, std::size_t element) const {
  return patterns_[which].data() + element % period;
}

void Values::fill(const DeviceFloats& input, int rank) const {
  for (std::size_t i = 0; i < input.count(); i += chunk) {
    test::device_upload(input.data() + i, from(static_cast<std::size_t>(rank), i),
                        std::min(chunk, input.count() - i) * sizeof(float));
  }
}

std::size_t Values::count_wrong(const bench::Piece& piece, const DeviceFloats& output,
                                std::size_t first, std::size_t count) const {
  using Source = bench::Piece::Source;
  // Pinned: copies of gigabytes at the link's speed.
  thread_local const cuda::PinnedMemory memory(chunk * sizeof(float));
  auto* const got = reinterpret_cast<float*>(memory.data());
  const bool sums = piece.source == Source::reduced;
  const std::size_t which = sums ? patterns_.size() - 1 : static_cast<std::size_t>(piece.rank);
  const std::size_t begin = static_cast<std::size_t>(piece.block) * count;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; i += chunk) {
    const std::size_t here = std::min(chunk, count - i);
    test::device_download(got, output.data() + first + i, here * sizeof(float));
    wrong += piece.source == Source::untouched ? touched(got, here)
                                               : differing(got, from(which, begin + i), here);
  }
  return wrong;
}

void poison(const DeviceFloats& output, std::size_t count) {
  const test::DeviceStream stream;
  expect_cuda(cuMemsetD8Async(output.address(), poison_byte, count * sizeof(float), stream));
  stream.finish();
}

}  // namespace rondo::gpu_test
