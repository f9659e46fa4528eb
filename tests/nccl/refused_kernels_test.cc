// A driver that takes no form of the device kernels, or a build that has none: calls on GPU buffers go
// through the host, and the log says so once. The environment of this test makes the stand-in a driver
// of CUDA 11.6 (CMakeLists.txt).
#include "tests/catch.h"
#include "tests/nccl/device.h"
#include "tests/nccl/log.h"

namespace rondo::test {
namespace {

std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

void sum_on_device(const std::vector<ncclComm_t>& comms) {
  run_members(comms, [](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(rank));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(1000, rank + 1);
    expect(all_reduce(buffer, 1000, comm, stream));
    stream.finish();
    expect_that(buffer.is_all(3), "the sum");
  });
}

std::vector<ncclComm_t> two_devices() {
  std::vector<ncclComm_t> comms(2);
  const std::vector<int> devices{0, 1};
  device_context(0);
  expect(ncclCommInitAll(comms.data(), 2, devices.data()));
  return comms;
}

TEST_CASE("where the driver refuses all kernels, the host reduces, and one warning says why") {
  const std::string text = logged_while([] {
    for (int life = 0; life < 2; ++life) sum_on_device(two_devices());
  });
  INFO(text);
  CHECK(fake_launches() == 0);
  CHECK(fake_resident_launches() == 0);
  CHECK(count_of(text, " WARN ") == 1);
  if (RONDO_WITH_KERNELS != 0) {
    CHECK_THAT(text, Catch::Contains("this CUDA driver (of CUDA 11.6) takes no device kernels") &&
                         Catch::Contains("PTX: CUDA error 222") &&
                         Catch::Contains("Try: a driver of CUDA 11.7 or newer"));
  } else {
    CHECK_THAT(text, Catch::Contains("this rondo has no device kernels. Try: build rondo where"));
  }
  CHECK_THAT(text, Catch::Contains("reductions of GPU buffers go through the host's memory"));
}

}  // namespace
}  // namespace rondo::test
