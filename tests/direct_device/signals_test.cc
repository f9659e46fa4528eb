// Operations on flags, put into a stream in batches.
#include "core/direct_device/signals.h"

#include "core/cuda/pinned.h"
#include "tests/catch.h"
#include "tests/nccl/device.h"

namespace rondo::direct_device {
namespace {

TEST_CASE("a stream takes as many operations as there are, in batches of fewer than 256") {
  cuCtxSetCurrent(test::device_context(0));
  const std::size_t count = GENERATE(0, 1, 254, 255, 256, 257, 510, 511, 1000);
  const cuda::PinnedMemory memory(4096);
  auto* const words = reinterpret_cast<std::uint32_t*>(memory.data());
  std::fill_n(words, count, 0);
  std::vector<cuda::MemoryOperation> operations;
  for (std::size_t i = 0; i < count; ++i) {
    operations.push_back({.operation = cuda::operation_write_value,
                          .address = memory.device_address(words + i),
                          .value = i + 1,
                          .flags = cuda::write_value_default});
  }
  const test::DeviceStream stream;
  const int before = fake_calls("cuStreamBatchMemOp");
  put_operations(operations, stream);
  stream.finish();
  CHECK(fake_calls("cuStreamBatchMemOp") - before == static_cast<int>((count + 254) / 255));
  for (std::size_t i = 0; i < count; ++i) CHECK(words[i] == i + 1);
}

}  // namespace
}  // namespace rondo::direct_device
