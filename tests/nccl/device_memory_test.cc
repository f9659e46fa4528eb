// Where CUDA's driver is loaded: device memory is refused in words, streams are waited for.
#include <dlfcn.h>

#include <array>

#include "tests/catch.h"
#include "tests/nccl/fake_driver.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

FakeDriver& load_driver() {
  void* const library = ::dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto driver = reinterpret_cast<FakeDriver* (*)()>(::dlsym(library, "fake_driver"));
  return *driver();
}

TEST_CASE("device memory is found once a driver is there, and refused") {
  const std::vector<ncclComm_t> comms = init_all(1);
  std::array<float, 8> device{};
  std::array<float, 8> host{};
  const auto stream = reinterpret_cast<cudaStream_t>(&host);
  const auto call = [&](const float* in, float* out) {
    return ncclAllReduce(in, out, 4, ncclFloat, ncclSum, comms[0], stream);
  };
  CHECK(call(device.data(), host.data()) == ncclSuccess);  // no driver: it can be no device's

  FakeDriver& driver = load_driver();
  driver.device_begin = device.data();
  driver.device_bytes = sizeof device;
  CHECK_NOTHROW(
      expect_error(call(device.data(), host.data()), ncclInvalidUsage,
                   "the send buffer is device memory, and device buffers are not served"));
  CHECK_NOTHROW(expect_error(call(host.data(), device.data() + 4), ncclInvalidUsage,
                             "the receive buffer is device memory"));
  CHECK(driver.last_stream == nullptr);
  CHECK(call(host.data(), host.data()) == ncclSuccess);
  CHECK(driver.last_stream == stream);

  expect(ncclGroupStart());
  CHECK(call(device.data(), host.data()) == ncclInvalidUsage);
  CHECK_NOTHROW(expect_error(ncclGroupEnd(), ncclInvalidUsage, "device memory"));
  ncclRedOp_t op = ncclSum;
  CHECK(ncclRedOpCreatePreMulSum(&op, device.data(), ncclFloat, ncclScalarDevice, comms[0]) ==
        ncclInvalidUsage);
  void* handle = nullptr;
  CHECK(ncclCommRegister(comms[0], device.data(), 4, &handle) == ncclInvalidUsage);

  driver.stream_status = 700;
  CHECK_NOTHROW(expect_error(call(host.data(), host.data()), ncclUnhandledCudaError, "700"));
  driver.stream_status = 201;  // no context: nothing is in any stream
  CHECK(call(host.data(), host.data()) == ncclSuccess);
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
