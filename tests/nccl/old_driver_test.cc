// A program whose CUDA driver is older than what GPU buffers need.
#include <dlfcn.h>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<Function*>(found);
}

TEST_CASE("with a driver before CUDA 11.7 host buffers work, and GPU buffers are refused") {
  void* const driver = ::dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) throw std::runtime_error(::dlerror());
  void* context = nullptr;
  CHECK(find<int(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) == 0);
  CHECK(find<int(void*)>(driver, "cuCtxSetCurrent")(context) == 0);

  const std::vector<ncclComm_t> comms = init_all(1);
  expect_sum(comms[0], 3, 3);
  expect(ncclAllReduce(nullptr, nullptr, 0, ncclInt, ncclSum, comms[0], nullptr));
  void* device = nullptr;
  CHECK_NOTHROW(expect_error(ncclMemAlloc(&device, 4), ncclInvalidUsage, "CUDA 11.4"));
  CHECK(find<int(void**, std::size_t)>(driver, "cuMemAlloc_v2")(&device, 4) == 0);
  const auto call = [&] {
    return ncclAllReduce(device, device, 1, ncclInt, ncclSum, comms[0], nullptr);
  };
  CHECK_NOTHROW(expect_error(call(), ncclInvalidUsage, "CUDA 11.4) has no function"));
  CHECK_NOTHROW(expect_error(call(), ncclInvalidUsage, "use a driver of CUDA 11.7 or newer"));
  expect_sum(comms[0], 3, 3);
  CHECK(find<int(void*)>(driver, "cuMemFree_v2")(device) == 0);
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
