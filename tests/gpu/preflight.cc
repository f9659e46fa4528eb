// What everything else needs of a GPU and its driver, in a few seconds: the driver takes rondo's
// kernels, streams do memory operations, and libnccl's all-reduce of two ranks is right. With
// "--costs": how long memory operations of streams take.
#include <algorithm>
#include <chrono>

#include "core/cuda/kernels.h"
#include "core/cuda/memory_operations.h"
#include "tests/gpu/report.h"
#include "tests/nccl/device.h"

namespace rondo::gpu_test {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// 1 where `body` throws: its words say what is wrong and what to do.
template <class Body>
int check(const char* what, const Body& body) {
  const auto begin = Clock::now();
  try {
    body();
  } catch (const std::exception& error) {
    Line("wrong").text("check", what);
    std::fprintf(stderr, "WRONG: %s: %s\n", what, error.what());
    return 1;
  }
  Line("preflight").text("check", what).number("seconds", since(begin));
  return 0;
}

void require_sum() {
  constexpr std::size_t count = 100'000;
  std::vector<ncclComm_t> comms(2);
  const std::vector<int> devices(comms.size(), 0);
  test::expect(ncclCommInitAll(comms.data(), static_cast<int>(comms.size()), devices.data()));
  const test::DeviceStream stream;
  const test::DeviceBuffer<int> first(test::numbers(count, 0)), second(test::numbers(count, 1));
  test::expect(ncclGroupStart());
  const auto add = [&](const test::DeviceBuffer<int>& buffer, ncclComm_t comm) {
    test::expect(
        ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, ncclSum, comm, stream));
  };
  add(first, comms.front());
  add(second, comms.back());
  test::expect(ncclGroupEnd());
  stream.finish();
  const std::vector<int> wanted = test::sums_of_numbers(count, 2);
  test::expect_that(first.get() == wanted && second.get() == wanted, "other numbers than the sums");
  test::destroy(comms);
}

int check_all(cuda::Context context) {
  int version = 0;
  test::expect_cuda(cuDriverGetVersion(&version));
  Line("driver").text("cuda",
                      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  return check("kernels that wait for nothing", [&] { cuda::Kernels::of(context); }) +
         check("co-resident kernels", [&] { cuda::ResidentKernels::of(context); }) +
         check("memory operations of streams", [&] { cuda::require_memory_operations(context); }) +
         check("batches of them", [&] { cuda::require_batches(context); }) +
         check("an all-reduce of two ranks", require_sum);
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Batches of `count` operations in a row: writes of host memory, or waits for what is there already.
void measure(const char* name, cuda::MemoryOperation operation, std::size_t count) {
  constexpr std::size_t apart = 64;  // cache lines
  constexpr int turns = 15, batches = 20;
  const cuda::PinnedMemory memory(count * apart);
  std::vector<cuda::MemoryOperation> batch(count, operation);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const word = memory.data() + i * apart;
    *reinterpret_cast<std::uint32_t*>(word) = static_cast<std::uint32_t>(operation.value);
    batch[i].address = memory.device_address(word);
  }
  const test::DeviceStream stream;
  std::vector<double> of_calls, of_all;
  for (int turn = 0; turn < turns; ++turn) {
    const auto begin = Clock::now();
    for (int i = 0; i < batches; ++i) {
      test::expect_cuda(
          cuStreamBatchMemOp_v2(stream, static_cast<unsigned>(count), batch.data(), 0));
    }
    of_calls.push_back(since(begin) / batches);
    stream.finish();
    of_all.push_back(since(begin) / batches);
  }
  Line("memory_operations")
      .text("operation", name)
      .number("operations", static_cast<double>(count))
      .number("microseconds_of_the_call", median(of_calls) * 1e6)
      .number("microseconds", median(of_all) * 1e6);
}

int measure_all() {
  for (const std::size_t count : {1, 7, 14, 70}) {
    measure(
        "write",
        {.operation = cuda::operation_write_value, .value = 1, .flags = cuda::write_value_default},
        count);
    measure("wait",
            {.operation = cuda::operation_wait_value, .value = 1, .flags = cuda::wait_value_equal},
            count);
  }
  return 0;
}

}  // namespace
}  // namespace rondo::gpu_test

int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const bool costs = count > 1 && std::string(arguments[1]) == "--costs";
  return program(driver_obstacle(), [&] {
    const auto context = rondo::test::device_context(0);
    cuCtxSetCurrent(context);
    return costs ? measure_all() : check_all(context);
  });
}
