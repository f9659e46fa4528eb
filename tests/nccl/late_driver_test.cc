// Programs that load CUDA's driver by themselves: only after their communicators were made, and one that
// is older than what GPU buffers need.
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

void* load() {
  void* const driver = ::dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) throw std::runtime_error(::dlerror());
  return driver;
}

/// Makes device 0 this thread's.
void enter_device(void* driver) {
  void* context = nullptr;
  CHECK(find<int(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) == 0);
  CHECK(find<int(void*)>(driver, "cuCtxSetCurrent")(context) == 0);
}

TEST_CASE("device memory is served once a driver is there", "[late]") {
  const std::vector<ncclComm_t> comms = init_all(1);
  std::array<float, 8> host{1, 2, 3, 4};
  const auto call = [&](const void* in, void* out) {
    return ncclAllReduce(in, out, 4, ncclFloat, ncclSum, comms[0], nullptr);
  };
  CHECK(call(host.data(), host.data()) == ncclSuccess);  // no driver: it can be no device's

  void* const driver = load();
  CHECK(call(host.data(), host.data()) == ncclSuccess);  // a driver without a context

  enter_device(driver);
  void* device = nullptr;
  expect(ncclMemAlloc(&device, sizeof host));
  CHECK(call(host.data(), device) == ncclSuccess);
  CHECK(find<int(void*)>(driver, "cuStreamSynchronize")(nullptr) == 0);
  std::array<float, 4> got{};
  CHECK(find<int(void*, void*, std::size_t)>(driver, "cuMemcpyDtoH_v2")(got.data(), device,
                                                                        sizeof got) == 0);
  CHECK(got == std::array<float, 4>{1, 2, 3, 4});

  find<void(const char*, int)>(driver, "fake_fail_next")("cuStreamSynchronize", 700);
  expect_error(call(host.data(), host.data()), ncclUnhandledCudaError, "700");
  expect(ncclMemFree(device));
  destroy(comms);
}

TEST_CASE("with a driver before CUDA 11.7 host buffers work, and GPU buffers are refused",
          "[old]") {
  void* const driver = load();
  enter_device(driver);
  const std::vector<ncclComm_t> comms = init_all(1);
  expect_sum(comms[0], 3, 3);
  expect(ncclAllReduce(nullptr, nullptr, 0, ncclInt, ncclSum, comms[0], nullptr));
  void* device = nullptr;
  expect_error(ncclMemAlloc(&device, 4), ncclInvalidUsage, "CUDA 11.4");
  CHECK(find<int(void**, std::size_t)>(driver, "cuMemAlloc_v2")(&device, 4) == 0);
  const auto call = [&] {
    return ncclAllReduce(device, device, 1, ncclInt, ncclSum, comms[0], nullptr);
  };
  expect_error(call(), ncclInvalidUsage, "CUDA 11.4) has no function");
  expect_error(call(), ncclInvalidUsage, "use a driver of CUDA 11.7 or newer");
  expect_sum(comms[0], 3, 3);
  CHECK(find<int(void*)>(driver, "cuMemFree_v2")(device) == 0);
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
