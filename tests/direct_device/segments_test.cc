// Segments that become descriptors and are mapped from them, here in one process. Each of the
// driver's calls for that fails once.
#include "core/cuda/segments.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/catch.h"
#include "tests/nccl/segments.h"
#include "tests/support/setting.h"

namespace rondo::cuda {
namespace {

using test::Segments;
using test::Setting;

DevicePointer begin_of(const Segments& memory) { return address_of(memory.data()); }

/// `before_each` gets the number of a segment that is about to be shared.
MappedSegments share_and_map(const std::vector<Range>& segments,
                             const std::function<void(std::size_t)>& before_each) {
  std::vector<std::size_t> bytes;
  for (const Range& each : segments) bytes.push_back(each.bytes);
  std::size_t next = 0;
  return {bytes, [&] {
            before_each(next);
            return share_segment(segments[next++]);
          }};
}

/// What the call's error says; empty where it throws nothing.
std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const CudaError& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("all segments that hold any of the bytes are found, each as a whole") {
  cuCtxSetCurrent(test::device_context(0));
  const std::size_t all = 5;
  const Segments memory(all);
  const std::size_t each = memory.bytes_of_each();
  const std::size_t first = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4});
  const std::size_t last = GENERATE(range(std::size_t{0}, std::size_t{6}));
  const std::size_t in_first = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4096});
  if (last < first) return;
  const DevicePointer begin = begin_of(memory) + first * each + in_first;
  const DevicePointer end = begin_of(memory) + last * each + each - 1;
  const std::vector<Range> found = segments_of(begin, end - begin);
  if (last == all) {  // beyond what is mapped
    CHECK(found.empty());
    return;
  }
  REQUIRE(found.size() == last - first + 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].begin == begin_of(memory) + (first + i) * each);
    CHECK(found[i].bytes == each);
  }
}

TEST_CASE("memory of another kind has no segments") {
  cuCtxSetCurrent(test::device_context(0));
  const test::DeviceBuffer<int> memory(1000);
  CHECK(segments_of(address_of(memory.data()), 4000).empty());
}

TEST_CASE("mapped segments are their owner's memory, and outlive the owner's mapping") {
  cuCtxSetCurrent(test::device_context(0));
  const int blocks = fake_blocks();
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{40});
  {
    std::optional<Segments> memory(std::in_place, count);
    const std::vector<int> values = test::numbers(memory->bytes() / sizeof(int), 1);
    test::device_upload(memory->data(), values.data(), memory->bytes());
    const std::size_t bytes = memory->bytes();
    const MappedSegments mapped =
        share_and_map(segments_of(begin_of(*memory), bytes), [](std::size_t) {});
    CHECK(fake_descriptors() == 0);  // mappings need none
    CHECK(mapped.address() != begin_of(*memory));
    memory.reset();
    std::vector<int> got(values.size());
    test::device_download(got.data(), reinterpret_cast<void*>(mapped.address()), bytes);
    CHECK(got == values);
  }
  CHECK(fake_blocks() == blocks);
}

TEST_CASE("a driver call that fails is named, and leaves neither a mapping nor a descriptor") {
  const std::string function =
      GENERATE("cuMemAddressReserve", "cuMemRetainAllocationHandle", "cuMemExportToShareableHandle",
               "cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess");
  const std::size_t at = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
  cuCtxSetCurrent(test::device_context(0));
  const Segments memory(3);
  const std::vector<Range> segments = segments_of(begin_of(memory), memory.bytes());
  const int blocks = fake_blocks();
  const auto map = [&](bool fails) {
    const auto fail = [&](std::size_t segment) {
      if (fails && segment == at) fake_fail_next(function.c_str(), 2);
    };
    if (function == "cuMemAddressReserve") fail(at);  // comes before all segments
    return failure([&] { share_and_map(segments, fail); });
  };
  CHECK_THAT(map(true), Catch::Contains(function + " failed with CUDA error 2"));
  CHECK(fake_blocks() == blocks);
  CHECK(fake_descriptors() == 0);
  CHECK(map(false).empty());
  CHECK(fake_blocks() == blocks);
}

TEST_CASE("segments without descriptors are not shared, and the error names the call") {
  cuCtxSetCurrent(test::device_context(0));
  const bool driver_has_none = GENERATE(false, true);
  const Segments memory(1, driver_has_none ? file_descriptor : 0);
  const int blocks = fake_blocks();
  std::optional<Setting> none;
  if (driver_has_none) none.emplace("FAKE_WITHOUT_DESCRIPTORS", "1");
  const std::vector<Range> segments = segments_of(begin_of(memory), memory.bytes());
  REQUIRE(segments.size() == 1);
  CHECK_THAT(failure([&] { share_segment(segments[0]); }),
             Catch::Contains("cuMemExportToShareableHandle failed") &&
                 Catch::Contains("make the memory with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR"));
  CHECK(fake_blocks() == blocks);
  CHECK(fake_descriptors() == 0);
}

}  // namespace
}  // namespace rondo::cuda
