// Device reductions against the CPU kernels, then their speed compared with a copy.
#include "kernels/cpu/reduce.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/cuda/kernels.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/report.h"
#include "tests/kernels/buffers.h"

namespace rondo::gpu_test {
namespace {

using device::DeviceMemory;
using device::Event;
using device::Stream;

/// Why CUDA's runtime cannot be used; empty: it can.
std::string obstacle() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess)
    return std::string("no CUDA device can be used: ") + cudaGetErrorString(status);
  return devices > 0 ? "" : "no CUDA device is visible to this process";
}

/// The kernels in the device's primary context.
const cuda::Kernels& kernels() {
  device::demand(cudaFree(nullptr), "making a context");
  cuda::Context context = nullptr;
  cuda::check(cuda::driver().ctx_get_current(&context), "cuCtxGetCurrent");
  return cuda::Kernels::of(context);
}

std::vector<cuda::DevicePointer> addresses(const std::vector<const void*>& pointers) {
  std::vector<cuda::DevicePointer> made;
  for (const void* pointer : pointers) made.push_back(cuda::address_of(pointer));
  return made;
}

struct Case {
  DataType type;
  ReduceOperator op;
  std::size_t count;
  int operands;
  std::size_t offset;  ///< elements that every other buffer lies off 16 bytes
  std::uint64_t divisor;
};

/// Elements of one reduction that differ from the CPU kernels'.
template <class E>
std::size_t wrong_elements(const Case& c, std::mt19937& random) {
  const std::size_t bytes = c.count * sizeof(typename E::Storage);
  std::vector<testing::Buffer> inputs;
  std::vector<DeviceMemory> memory;
  std::vector<const void*> host, there;
  for (int j = 0; j < c.operands; ++j) {
    inputs.emplace_back(bytes, 0);
    testing::fill<E>(inputs.back(), random);
    const std::size_t offset = j % 2 == 1 ? c.offset * sizeof(typename E::Storage) : 0;
    memory.emplace_back(bytes + 64);
    memory.back().copy_from(inputs.back().data, bytes, offset);
    there.push_back(memory.back().data() + offset);
  }
  for (const testing::Buffer& input : inputs) host.push_back(input.data);
  std::vector<std::byte> expected(bytes);
  void* into = expected.data();
  const double factor = 1.0 / static_cast<double>(c.divisor);
  reduce({.type = c.type, .op = c.op, .factor = factor}, {&into, 1}, host, c.count);
  if (c.divisor != 1) divide(c.type, into, c.divisor, c.count);
  const DeviceMemory output(bytes + 64);
  kernels().combine({c.type, c.op, c.divisor}, cuda::address_of(output.data()), addresses(there),
                    c.count, nullptr);
  testing::Buffer got(bytes, 0);
  output.copy_to(got.data, bytes);
  return testing::count_wrong<E>(expected, got);
}

/// `brief`: few types, for tools that slow everything down.
int check_numbers(bool brief) {
  int wrong_cases = 0;
  std::mt19937 random(1);
  for (const DataTypeInfo& type : data_types) {
    if (brief && type.type != DataType::float32 && type.type != DataType::float8_e4m3) continue;
    for (const ReduceOperatorInfo& op : reduce_operators) {
      if (!applies_to(op.op, type.type)) continue;
      for (const std::size_t count : {1, 31, 1000, 100003}) {
        for (const int operands : {1, 2, 8}) {
          for (const std::size_t offset : {0, 1}) {
            const Case c{type.type, op.op, count, operands, offset, operands == 8 ? 3u : 1u};
            const std::size_t wrong = testing::with_element(
                type.type, [&](auto e) { return wrong_elements<decltype(e)>(c, random); });
            if (wrong == 0) continue;
            ++wrong_cases;
            Line("wrong")
                .text("type", type.name)
                .text("op", op.name)
                .number("count", static_cast<double>(count))
                .number("operands", operands)
                .number("offset", static_cast<double>(offset))
                .number("elements", static_cast<double>(wrong));
          }
        }
      }
    }
  }
  return wrong_cases;
}

/// The median time of `work` in its stream, in seconds.
template <class Work>
double seconds(const Stream& stream, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < 13; ++i) {
    Event begin, end;
    begin.record(stream);
    work();
    end.record(stream);
    if (i >= 3) times.push_back(end.seconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Measures gigabytes a second, read and written.
void measure(std::size_t bytes) {
  const Stream stream;
  const DeviceMemory output(bytes);
  std::vector<DeviceMemory> inputs;
  std::vector<const void*> pointers;
  for (int j = 0; j < 8; ++j) {
    inputs.emplace_back(bytes);
    pointers.push_back(inputs.back().data());
  }
  const std::vector<cuda::DevicePointer> sources = addresses(pointers);
  const cuda::Kernels& of_device = kernels();
  const double copy = seconds(stream, [&] {
    device::demand(
        cudaMemcpyAsync(output.data(), pointers[0], bytes, cudaMemcpyDeviceToDevice, stream.get()),
        "copying on the device");
  });
  const double copied = 2 * static_cast<double>(bytes) / copy * 1e-9;
  Line("copy").number("bytes", static_cast<double>(bytes)).number("gigabytes_per_second", copied);
  for (const DataTypeInfo& type : data_types) {
    for (const int operands : {2, 8}) {
      const double time = seconds(stream, [&] {
        of_device.combine({.type = type.type}, cuda::address_of(output.data()),
                          {sources.data(), static_cast<std::size_t>(operands)}, bytes / type.bytes,
                          stream.get());
      });
      const double reduced = (operands + 1) * static_cast<double>(bytes) / time * 1e-9;
      Line("reduction")
          .text("type", type.name)
          .number("operands", operands)
          .number("bytes", static_cast<double>(bytes))
          .number("gigabytes_per_second", reduced)
          .number("of_copy", reduced / copied);
    }
  }
}

}  // namespace
}  // namespace rondo::gpu_test

/// With "--check" only numbers are checked. With "--brief" few of them are.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const std::string option = count > 1 ? arguments[1] : "";
  return program(obstacle(), [&] {
    const int wrong = check_numbers(option == "--brief");
    if (option.empty() && wrong == 0) {
      for (const std::size_t bytes : {std::size_t{1} << 26, std::size_t{1} << 28}) measure(bytes);
    }
    return wrong;
  });
}
