// No memory is left in the middle of a call between devices: the other rank gets an error, or the
// call works all the same. A program of its own, because it replaces operator new.
#include <dlfcn.h>

#include <new>
#include <string_view>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/support/setting.h"

namespace {

/// How many pieces of memory the library may still have on this thread; negative: any number.
int& left() {
  thread_local int left = -1;
  return left;
}

/// Whether the code is the library's. The driver's, for example, is not.
bool is_the_library(const void* code) {
  Dl_info info{};
  return ::dladdr(code, &info) != 0 &&
         std::string_view(info.dli_fname).find("libnccl") != std::string_view::npos;
}

/// `code`: the caller.
void* taken(std::size_t bytes, const void* code) {
  if (left() >= 0 && is_the_library(code)) {
    // After one failure there is memory again, to report it.
    if (left()-- == 0) throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return taken(bytes, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return taken(bytes, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rondo::test {
namespace {

/// True where the call needs no more than `allowed` pieces of memory.
bool survives(bool message, int allowed) {
  const Setting timeout("RONDO_TIMEOUT", "20");  // for a rank that was not told
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const std::vector<DeviceStream> streams(2);
  const DeviceBuffer<int> buffer(2000, 1);
  const auto call = [&](std::size_t rank) {
    int* const data = buffer.data() + 1000 * rank;
    const cudaStream_t stream = streams[rank];
    if (!message) return ncclAllReduce(data, data, 1000, ncclInt, ncclSum, comms[rank], stream);
    return rank == 0 ? ncclSend(data, 1000, ncclInt, 1, comms[0], stream)
                     : ncclRecv(data, 1000, ncclInt, 0, comms[1], stream);
  };
  left() = allowed;
  const ncclResult_t result = call(0);
  const bool was_enough = left() >= 0;
  left() = -1;
  ncclResult_t state = ncclSuccess;
  expect(ncclCommGetAsyncError(comms[0], &state));
  if (state == ncclSuccess && result != ncclSuccess) expect(call(0));
  if (state == ncclSuccess) {
    expect(call(1));
  } else {
    expect_that(failure_of(comms[1]) != ncclSuccess, "the other rank is told");
  }
  for (const DeviceStream& stream : streams) stream.finish();
  if (state == ncclSuccess) {
    for (const ncclComm_t comm : comms) expect(ncclCommGetAsyncError(comm, &state));
    CHECK(state == ncclSuccess);
  }
  if (was_enough) CHECK(result == ncclSuccess);
  abort_all(comms);
  return was_enough;
}

TEST_CASE("no memory is left in the middle of a call between devices") {
  const bool message = GENERATE(false, true);
  int allowed = 0;
  while (!survives(message, allowed)) ++allowed;
  CHECK(allowed > 3);
}

}  // namespace
}  // namespace rondo::test
