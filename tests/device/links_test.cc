// How devices reach each other, by what the driver's stand-in says of them.
#include "core/cuda/links.h"

#include <array>

#include "core/cuda/contexts.h"
#include "tests/catch.h"
#include "tests/fake_driver/fake_driver.h"

namespace rondo::test {
namespace {

TEST_CASE("a link's kind and rank are what the driver says") {
  REQUIRE(cuInit(0) == cuda::success);
  fake_set_link(0, 1, FakeLink::nvlink);
  fake_set_link(2, 1, FakeLink::none);
  const auto is = [](int device, int peer, cuda::Reach reach, int rank) {
    const cuda::Link link = cuda::link_between(device, peer);
    CHECK(link.reach == reach);
    CHECK(link.rank == rank);
  };
  is(3, 3, cuda::Reach::same, 0);
  is(0, 1, cuda::Reach::nvlink, 0);
  is(1, 0, cuda::Reach::nvlink, 0);
  is(0, 2, cuda::Reach::pcie, 1);
  is(1, 2, cuda::Reach::none, 1);
  is(0, 99, cuda::Reach::unknown, -1);
  fake_fail_next("cuDeviceGetP2PAttribute", 999);
  is(0, 1, cuda::Reach::unknown, -1);
}

TEST_CASE("links of several devices are named once each, the fastest first") {
  fake_set_link(0, 1, FakeLink::nvlink);
  fake_set_link(2, 1, FakeLink::none);
  const auto words = [](const std::vector<int>& devices) { return cuda::words_of_links(devices); };
  CHECK(words({}) == "same device");
  CHECK(words({4}) == "same device");
  CHECK(words({4, 4, 4}) == "same device");
  CHECK(words({1, 0}) == "NVLink");
  CHECK(words({0, 2, 0}) == "same device and PCIe");
  CHECK(words({2, 1, 0}) == "NVLink, PCIe and none");
}

TEST_CASE("a primary context is there as long as somebody holds it") {
  const int before = fake_retained(3);
  {
    const cuda::SharedContext context = cuda::retain_primary(3);
    const cuda::SharedContext other = context;
    REQUIRE(context != nullptr);
    CHECK(fake_retained(3) == before + 1);
    CHECK(cuda::borrowed(context.get()).get() == context.get());
  }
  CHECK(fake_retained(3) == before);
  CHECK(cuda::borrowed(nullptr) == nullptr);
  CHECK(cuda::device_count() == 8);
  CHECK_THROWS_AS(cuda::retain_primary(8), cuda::CudaError);
  // A context that cannot be given back is nobody's failure.
  {
    const cuda::SharedContext context = cuda::retain_primary(3);
    fake_fail_next("cuDevicePrimaryCtxRelease", 4);
  }
  CHECK(fake_retained(3) == before + 1);
}

}  // namespace
}  // namespace rondo::test
