// A program that loads CUDA's driver only after its communicators were made.
#include <dlfcn.h>

#include <array>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

/// A function of the driver, once it is loaded.
template <class Function>
Function* find(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<Function*>(found);
}

TEST_CASE("device memory is served once a driver is there") {
  const std::vector<ncclComm_t> comms = init_all(1);
  std::array<float, 8> host{1, 2, 3, 4};
  const auto call = [&](const void* in, void* out) {
    return ncclAllReduce(in, out, 4, ncclFloat, ncclSum, comms[0], nullptr);
  };
  CHECK(call(host.data(), host.data()) == ncclSuccess);  // no driver: it can be no device's

  void* const driver = ::dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) throw std::runtime_error(::dlerror());
  CHECK(call(host.data(), host.data()) == ncclSuccess);  // a driver without a context

  void* context = nullptr;
  CHECK(find<int(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) == 0);
  CHECK(find<int(void*)>(driver, "cuCtxSetCurrent")(context) == 0);
  void* device = nullptr;
  expect(ncclMemAlloc(&device, sizeof host));
  CHECK(call(host.data(), device) == ncclSuccess);
  CHECK(find<int(void*)>(driver, "cuStreamSynchronize")(nullptr) == 0);
  std::array<float, 4> got{};
  CHECK(find<int(void*, void*, std::size_t)>(driver, "cuMemcpyDtoH_v2")(got.data(), device,
                                                                        sizeof got) == 0);
  CHECK(got == std::array<float, 4>{1, 2, 3, 4});

  find<void(const char*, int)>(driver, "fake_fail_next")("cuStreamSynchronize", 700);
  CHECK_NOTHROW(expect_error(call(host.data(), host.data()), ncclUnhandledCudaError, "700"));
  expect(ncclMemFree(device));
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
