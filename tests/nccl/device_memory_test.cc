// Memory of ncclMemAlloc on a device: from cuMemCreate where driver and device have it, else from
// cuMemAlloc. Between processes: device_segments_test.py.
#include <limits>
#include <optional>

#include "core/cuda/contexts.h"
#include "tests/catch.h"
#include "tests/nccl/segments.h"
#include "tests/nccl/together.h"
#include "tests/nccl/windows.h"

namespace rondo::test {
namespace {

class Allocated {
 public:
  explicit Allocated(std::size_t bytes) { expect(ncclMemAlloc(&memory_, bytes)); }
  ~Allocated() { ncclMemFree(memory_); }
  Allocated(const Allocated&) = delete;
  Allocated& operator=(const Allocated&) = delete;
  int* data() const { return static_cast<int*>(memory_); }
  cuda::DevicePointer address() const { return cuda::address_of(memory_); }

 private:
  void* memory_ = nullptr;
};

/// Whether the memory is of cuMemCreate, which CUDA IPC does not know.
bool is_segment(const Allocated& memory) {
  int capable = 0;
  expect_cuda(cuPointerGetAttribute(&capable, cuda::attribute_ipc_capable, memory.address()));
  return capable == 0;
}

TEST_CASE("ncclMemAlloc uses cuMemCreate where it can", "[fake]") {
  const auto [variable, value, segment] =
      GENERATE(table<const char*, const char*, bool>({{"NCCL_DEBUG", "WARN", true},
                                                      {"NCCL_CUMEM_ENABLE", "-2", true},
                                                      {"RONDO_CUMEM_ENABLE", "1", true},
                                                      {"NCCL_CUMEM_ENABLE", "0", false},
                                                      {"FAKE_WITHOUT_SEGMENTS", "1", false},
                                                      {"FAKE_WITHOUT_DESCRIPTORS", "1", false}}));
  const Setting setting(variable, value);
  const bool wanted = segment;  // lambdas take no structured binding
  const std::string name = variable;
  with_calls_in_windows(1, [&](int rank, ncclComm_t comm) {  // read where it lies
    const Allocated memory(summed_count * sizeof(int));
    expect_that(is_segment(memory) == wanted, name);
    void* handle = nullptr;
    expect(ncclCommRegister(comm, memory.data(), 4, &handle));
    const Window window(comm, memory.data(), summed_count * sizeof(int));
    sum_in_place(comm, memory.data(), rank);
    expect(ncclCommDeregister(comm, handle));
  });
}

TEST_CASE("ncclMemAlloc uses cuMemAlloc where cuMemCreate is refused, and nothing is left over",
          "[fake]") {
  const char* const call =
      GENERATE("cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess");
  cuCtxSetCurrent(device_context(0));
  const int blocks = fake_blocks();
  fake_fail_next(call, cuda::out_of_memory);
  {
    const Allocated memory(10'000);
    CHECK_FALSE(is_segment(memory));
    CHECK(fake_blocks() <= blocks + 1);  // fewer where an earlier test's memory was just given back
    fake_fail_next(call, 801);
    fake_fail_next("cuMemAlloc", cuda::out_of_memory);
    void* none = nullptr;
    expect_error(ncclMemAlloc(&none, 1), ncclUnhandledCudaError, "cuMemAlloc failed");
  }
  expect_blocks(blocks);
}

TEST_CASE("memory of ncclMemAlloc has any size, and an address of its own") {
  cuCtxSetCurrent(device_context(0));
  const int blocks = fake_blocks();
  {
    const Allocated none(0);
    const Allocated one(1);
    const Allocated more((std::size_t{2} << 20) + 1);
    CHECK(none.address() != one.address());
    cuda::DevicePointer begin = 0;
    std::size_t bytes = 0;
    expect_cuda(cuMemGetAddressRange_v2(&begin, &bytes, more.address() + 10));
    CHECK((begin == more.address() && bytes == std::size_t{4} << 20));
    void* never = nullptr;
    expect_error(ncclMemAlloc(&never, std::numeric_limits<std::size_t>::max()),
                 ncclUnhandledCudaError, "cuMemAlloc failed");
    refused(ncclMemFree(more.data() + 1), "no memory of ncclMemAlloc");
  }
  expect_blocks(blocks);
}

TEST_CASE("memory of ncclMemAlloc is open to the devices that reach its own", "[fake]") {
  cuCtxSetCurrent(device_context(2));
  fake_set_link(2, 5, FakeLink::none);
  {
    const Allocated memory(100);
    for (int device = 0; device < cuda::device_count(); ++device) {
      const cuda::MemoryLocation location{.device = device};
      unsigned long long flags = 77;
      expect_cuda(cuMemGetAccess(&flags, &location, memory.address()));
      CHECK(flags == (device == 5 ? 0 : cuda::read_and_write));
    }
  }
  fake_set_link(2, 5, FakeLink::pcie);
}

TEST_CASE("ncclMemAlloc and ncclMemFree work while a stream is captured") {
  cuCtxSetCurrent(device_context(0));
  const int mode = GENERATE(0, 1, 2);  // global, the thread's own, relaxed
  const DeviceStream stream;
  expect_cuda(cuStreamBeginCapture_v2(stream, mode));
  { const Allocated memory(100); }
  cuda::Graph graph = nullptr;
  expect_cuda(cuStreamEndCapture(stream, &graph));
  expect_cuda(cuGraphDestroy(graph));
}

TEST_CASE("a thread's group on several devices combines memory of cuMemCreate that is open to all",
          "[fake]") {
  constexpr std::size_t count = 1000;  // a part for each device
  constexpr std::size_t bytes = count * sizeof(int);
  const bool open = GENERATE(true, false);
  const std::vector<int> devices{0, 1};
  const std::vector<ncclComm_t> comms = init_on(devices);
  std::vector<std::unique_ptr<DeviceStream>> streams;
  std::vector<std::unique_ptr<Allocated>> allocated;
  std::vector<std::unique_ptr<Segments>> closed;
  std::vector<int*> data;
  for (const int device : devices) {
    cuCtxSetCurrent(device_context(device));
    streams.push_back(std::make_unique<DeviceStream>());
    if (open) {
      data.push_back(allocated.emplace_back(std::make_unique<Allocated>(bytes))->data());
    } else {
      data.push_back(closed.emplace_back(std::make_unique<Segments>(1))->data());
    }
    const std::vector<int> mine = numbers(count, device);
    device_upload(data.back(), mine.data(), bytes);
  }
  const Launches launches;
  in_group(2, [&](std::size_t rank) {
    expect(ncclAllReduce(data[rank], data[rank], count, ncclInt, ncclSum, comms[rank],
                         *streams[rank]));
  });
  for (const int* each : data) {
    for (const auto& stream : streams) stream->finish();
    std::vector<int> got(count);
    device_download(got.data(), each, bytes);
    expect_sums(got, 2, 0, "all_reduce");
  }
  CHECK(launches.are(open ? 2 : 0));
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
