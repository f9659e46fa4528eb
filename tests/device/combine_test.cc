// The kernels as core/cuda/kernels.h launches them, through a stand-in for the driver, against the
// CPU kernels: every type and operator, alignments, several sources, targets, pieces and scalars.
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda/handles.h"
#include "core/cuda/kernels.h"
#include "kernels/cpu/reduce.h"
#include "tests/catch.h"
#include "tests/kernels/buffers.h"
#include "tests/nccl/device.h"

namespace rondo::test {
namespace {

using cuda::DevicePointer;
using testing::Buffer;

/// The stand-in runs its own kernels: no code is needed.
constexpr std::string_view any_ptx = ".version 7.7\n.target sm_75\n";
DeviceImage any_image() {
  return {.codes = {}, .ptx = reinterpret_cast<const std::byte*>(any_ptx.data())};
}

/// Kernels and a stream on device 0.
class Device {
 public:
  Device() {
    cuCtxSetCurrent(device_context(0));
    stream_.emplace();
    kernels_.emplace(any_image());
  }
  const cuda::Kernels& kernels() const { return *kernels_; }
  cuda::Stream stream() const { return *stream_; }
  void finish() const { stream_->finish(); }

 private:
  std::optional<DeviceStream> stream_{};
  std::optional<cuda::Kernels> kernels_{};
};

/// Device memory with guards around `bytes` bytes that begin `offset` bytes off a line.
class Place {
 public:
  Place(const Buffer& from, std::size_t offset) : size_(from.size), offset_(64 + offset) {
    expect_cuda(cuMemAlloc_v2(&address_, size_ + 256));
    const std::vector<std::byte> guards(size_ + 256, testing::guard);
    expect_cuda(cuMemcpyHtoD_v2(address_, guards.data(), guards.size()));
    if (size_ > 0) expect_cuda(cuMemcpyHtoD_v2(pointer(), from.data, size_));
  }
  ~Place() { cuMemFree_v2(address_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  DevicePointer pointer() const { return address_ + offset_; }
  /// What lies there now, guards included.
  Buffer get() const {
    Buffer got(size_, offset_ % 64);
    std::vector<std::byte> all(size_ + 256);
    expect_cuda(cuMemcpyDtoH_v2(all.data(), address_, all.size()));
    std::copy_n(all.data() + offset_, size_, got.data);
    const bool whole = all[offset_ - 1] == testing::guard && all[offset_ + size_] == testing::guard;
    if (!whole) *(got.data - 1) = std::byte{0};
    return got;
  }

 private:
  DevicePointer address_ = 0;
  std::size_t size_;
  std::size_t offset_;
};

using Places = std::vector<std::unique_ptr<Place>>;

template <class E>
std::vector<Buffer> random_buffers(std::size_t number, std::size_t bytes, std::mt19937& random) {
  std::vector<Buffer> made;
  for (std::size_t j = 0; j < number; ++j) {
    made.emplace_back(bytes, 0);
    testing::fill<E>(made.back(), random);
  }
  return made;
}

/// The buffers on a device, every other one `offset` bytes off a line.
Places placed(const std::vector<Buffer>& buffers, std::size_t offset) {
  Places made;
  for (const Buffer& buffer : buffers)
    made.push_back(std::make_unique<Place>(buffer, made.size() % 2 == 1 ? offset : 0));
  return made;
}

std::vector<std::byte> expected_of(const cuda::Combination& how, std::span<const Buffer> from,
                                   std::size_t count) {
  std::vector<const void*> pointers;
  for (const Buffer& buffer : from) pointers.push_back(buffer.data);
  std::vector<std::byte> expected(from.front().size);
  void* into = expected.data();
  reduce({.type = how.type,
          .op = how.op,
          .factor = 1.0 / static_cast<double>(how.divisor),
          .accumulate = how.accumulate},
         {&into, 1}, pointers, count);
  if (how.divisor != 1) divide(how.type, into, how.divisor, count);
  return expected;
}

struct Combined {
  cuda::Combination how;
  std::size_t count;
  std::size_t sources;
  std::size_t offset;  ///< elements
};

/// How many elements are wrong, out of place and then in place.
template <class E>
std::size_t wrong_elements(const Device& device, const Combined& c, std::mt19937& random) {
  constexpr std::size_t element = sizeof(typename E::Storage);
  const auto inputs = random_buffers<E>(c.sources, c.count * element, random);
  const Places places = placed(inputs, c.offset * element);
  const Place output(Buffer(c.count * element, 0), c.offset * element);
  std::vector<DevicePointer> sources;
  for (const auto& place : places) sources.push_back(place->pointer());
  device.kernels().combine(c.how, output.pointer(), sources, c.count, device.stream());
  device.kernels().combine(c.how, sources.back(), sources, c.count, device.stream());
  device.finish();
  const auto expected = expected_of(c.how, inputs, c.count);
  return testing::count_wrong<E>(expected, output.get()) +
         testing::count_wrong<E>(expected, places.back()->get());
}

void check(const Device& device, DataType type, DataType accumulate, ReduceOperator op) {
  INFO(name(type) << " in " << name(accumulate) << " " << name(op));
  std::mt19937 random(1);
  std::string wrong;
  for (const std::size_t count : {1, 31, 1000, 20011}) {
    for (const std::size_t sources : {1, 2, 8}) {
      for (const std::size_t offset : {0, 1}) {
        const std::uint64_t divisor = op == ReduceOperator::avg ? sources : 1;
        const Combined c{{type, op, divisor, accumulate}, count, sources, offset};
        const std::size_t elements = testing::with_element(type, accumulate, [&](auto e) {
          return wrong_elements<decltype(e)>(device, c, random);
        });
        if (elements == 0) continue;
        wrong += "\n" + std::to_string(elements) + " of count " + std::to_string(count) +
                 ", sources " + std::to_string(sources) + ", offset " + std::to_string(offset);
      }
    }
  }
  CHECK(wrong == "");
}

TEST_CASE("combinations on a device equal the CPU's", "[kernels]") {
  const Device device;
  for (const DataTypeInfo& type : data_types) {
    for (const ReduceOperatorInfo& op : reduce_operators) {
      if (!applies_to(op.op, type.type)) continue;
      check(device, type.type, type.type, op.op);
      if (const auto wide = wide_type(type.type)) check(device, type.type, *wide, op.op);
    }
  }
}

/// Multiplies each source but the first by a scalar of its own, one in memory and one not.
template <class E>
std::size_t wrong_when_scaled(const Device& device, DataType type, std::mt19937& random) {
  constexpr std::size_t element = sizeof(typename E::Storage);
  constexpr std::size_t count = 1003;
  auto inputs = random_buffers<E>(3, count * element, random);
  const auto scalars = random_buffers<E>(3, element, random);
  const Places places = placed(inputs, 0);
  const Places in_memory = placed(scalars, 0);
  const Place output(Buffer(count * element, 0), 0);
  cuda::Work work{.how = {.type = type}, .count = count, .sources = 3};
  work.scales.resize(3);
  work.scales[1] = {.at = reinterpret_cast<const std::byte*>(in_memory[1]->pointer()),
                    .used = true};
  work.scales[2].used = true;
  std::memcpy(&work.scales[2].bits, scalars[2].data, element);
  for (const auto& place : places) work.pointers.push_back(place->pointer());
  work.pointers.push_back(output.pointer());
  device.kernels().run(work, device.stream());
  device.finish();
  for (const std::size_t j : {1, 2}) {
    Buffer equal(count * element, 0);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(equal.data + i * element, scalars[j].data, element);
    const std::vector<const void*> factors{inputs[j].data, equal.data};
    reduce(type, ReduceOperator::prod, inputs[j].data, factors, count);
  }
  return testing::count_wrong<E>(expected_of({.type = type}, inputs, count), output.get());
}

TEST_CASE("scalars multiply their sources, rounded, before anything is added", "[kernels]") {
  const Device device;
  std::mt19937 random(2);
  for (const DataTypeInfo& type : data_types) {
    INFO(type.name);
    CHECK(testing::with_element(type.type, [&](auto e) {
            return wrong_when_scaled<decltype(e)>(device, type.type, random);
          }) == 0);
  }
}

TEST_CASE("many pieces take several launches, and a target may be left out", "[kernels]") {
  const Device device;
  std::mt19937 random(3);
  constexpr std::size_t count = 100;
  constexpr std::size_t pieces = 200;
  using E = testing::PlainElement<std::uint32_t>;
  const auto inputs = random_buffers<E>(2 * pieces, count * 4, random);
  std::vector<Buffer> empty;
  for (std::size_t i = 0; i < 2 * pieces; ++i) empty.emplace_back(count * 4, 0);
  const Places sources = placed(inputs, 0);
  const Places targets = placed(empty, 0);
  cuda::Work work{.how = {.type = DataType::uint32}, .count = count, .sources = 2, .targets = 2};
  for (std::size_t p = 0; p < pieces; ++p) {
    const DevicePointer second = p % 3 == 0 ? 0 : targets[2 * p + 1]->pointer();
    for (const DevicePointer pointer : {sources[2 * p]->pointer(), sources[2 * p + 1]->pointer(),
                                        targets[2 * p]->pointer(), second})
      work.pointers.push_back(pointer);
  }
  const int before = fake_launches();
  device.kernels().run(work, device.stream());
  device.finish();
  CHECK(fake_launches() - before == 2);
  std::size_t wrong = 0;
  for (std::size_t p = 0; p < pieces; ++p) {
    const auto sum = expected_of(work.how, std::span(inputs).subspan(2 * p, 2), count);
    const std::vector<std::byte> nothing(count * 4, testing::guard);
    wrong += testing::count_wrong<E>(sum, targets[2 * p]->get());
    wrong += testing::count_wrong<E>(p % 3 == 0 ? nothing : sum, targets[2 * p + 1]->get());
  }
  CHECK(wrong == 0);
}

/// One source to several targets, bit by bit.
cuda::Work copy_of(std::vector<DevicePointer> targets, DevicePointer source, std::size_t bytes) {
  cuda::Work work{.how = {.type = DataType::uint8},
                  .count = bytes,
                  .targets = targets.size(),
                  .pointers = targets};
  work.pointers.insert(work.pointers.begin(), source);
  return work;
}

TEST_CASE("copies keep every bit, whatever the alignment", "[kernels]") {
  const Device device;
  std::mt19937 random(4);
  using E = testing::PlainElement<std::uint8_t>;
  for (const std::size_t bytes : {0, 1, 15, 64, 4096, 100003}) {
    for (const std::size_t offset : {0, 1, 2, 4, 8}) {
      INFO(bytes << " bytes, " << offset << " off");
      const auto from = random_buffers<E>(1, bytes, random);
      const Place source(from[0], offset);
      const Place first(Buffer(bytes, 0), offset);
      const Place second(Buffer(bytes, 0), 0);
      device.kernels().run(copy_of({first.pointer(), second.pointer()}, source.pointer(), bytes),
                           device.stream());
      device.finish();
      const std::vector<std::byte> expected(from[0].data, from[0].data + bytes);
      CHECK(testing::count_wrong<E>(expected, first.get()) == 0);
      CHECK(testing::count_wrong<E>(expected, second.get()) == 0);
    }
  }
}

TEST_CASE("kernels refuse wrong arguments, and name the driver's errors", "[kernels]") {
  const Device device;
  const Place place(Buffer(64, 0), 0);
  const std::vector<DevicePointer> sources{place.pointer() + 1};
  CHECK_THROWS_WITH(device.kernels().combine({}, place.pointer(), sources, 4, device.stream()),
                    Catch::Contains("not aligned to its float32 elements"));
  CHECK_THROWS_WITH(device.kernels().combine({}, place.pointer(), {}, 4, device.stream()),
                    Catch::Contains("1 to 64 of each"));
  CHECK_THROWS_WITH(cuda::Kernels(DeviceImage()), Catch::Contains("no device kernels"));
  fake_fail_next("cuLaunchKernel", 719);
  const cuda::Work copy = copy_of({place.pointer()}, place.pointer() + 32, 32);
  CHECK_THROWS_WITH(device.kernels().run(copy, device.stream()),
                    Catch::Contains("cuLaunchKernel failed with CUDA error 719"));
  fake_fail_next("cuModuleLoadData", 200);
  CHECK_THROWS_AS(cuda::Kernels(any_image()), cuda::CudaError);
}

}  // namespace
}  // namespace rondo::test
