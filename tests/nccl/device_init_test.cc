// ncclCommInitAll over devices: every rank gets its device's context, whatever is current, and
// gives it back. Devices that do not exist are refused.
#include <algorithm>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/log.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

int devices_here() {
  int devices = 0;
  expect_cuda(cuInit(0));
  expect_cuda(cuDeviceGetCount(&devices));
  return devices;
}

/// How often devices 4 and 5 are retained, which no other file's tests use.
int retained_here() { return fake_retained(4) + fake_retained(5); }

/// What serves a communicator gives its context back in its own time. The number may become less
/// than `retained`, as an earlier communicator's context is given back, too.
void wait_for_retained(int retained) {
  while (retained_here() > retained) std::this_thread::yield();
}

void expect_no_comms(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) CHECK(comm == NCCL_COMM_NULL);
}

ncclComm_t no_comm() { return reinterpret_cast<ncclComm_t>(std::uintptr_t{8}); }

TEST_CASE("the error for a device that does not exist names it and the number of devices") {
  const int devices = devices_here();
  const int retained = fake_retained(-1);
  std::vector<ncclComm_t> comms(3, no_comm());
  const std::vector<int> list{0, devices, 0};
  refused(ncclCommInitAll(comms.data(), 3, list.data()),
          "devlist[1] is " + std::to_string(devices) + ", and this process has " +
              std::to_string(devices));
  expect_no_comms(comms);
  const int too_many = devices + 1;
  comms.assign(static_cast<std::size_t>(too_many), no_comm());
  refused(ncclCommInitAll(comms.data(), too_many, nullptr), "ndev is " + std::to_string(too_many));
  expect_no_comms(comms);
  CHECK(fake_retained(-1) <= retained);  // fewer: an earlier communicator's are given back
}

TEST_CASE("calls go between devices even if none was current when ranks were made", "[fake]") {
  const std::vector<int> device_of = GENERATE(std::vector<int>{4, 5}, std::vector<int>{5, 5, 4});
  for (const int device : device_of) device_context(device);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(0) : nullptr);
  const int before = device_parts();
  const int retained = retained_here() + static_cast<int>(device_of.size());  // each thread's own
  run_members(init_on(device_of), [&](int rank, ncclComm_t comm) {
    enter(comm);
    int said = -1;
    expect(ncclCommCuDevice(comm, &said));
    expect_that(said == device_of[static_cast<std::size_t>(rank)],
                "the device is " + std::to_string(said));
    check_broadcast(rank, comm);
  });
  CHECK(device_parts() > before);
  wait_for_retained(retained);
}

TEST_CASE("a rank that has no context current is one of device 0", "[fake]") {
  const int before = device_parts();
  const int retained = fake_retained(0);  // each thread of run_members() adds its own
  std::vector<ncclComm_t> comms(2);
  ncclUniqueId id = new_id();
  in_group(2, [&](std::size_t rank) {
    cuCtxSetCurrent(rank == 0 ? nullptr : device_context(1));
    expect(ncclCommInitRank(&comms[rank], 2, id, static_cast<int>(rank)));
  });
  CHECK(fake_retained(0) > retained);
  run_members(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(rank));
    check_broadcast(rank, comm);
  });
  CHECK(device_parts() > before);
  while (fake_retained(0) > retained + 1) std::this_thread::yield();
}

TEST_CASE("contexts are given back, whichever way a communicator ends", "[fake]") {
  enum class End { destroyed, aborted, split, failed };
  const End end = GENERATE(End::destroyed, End::aborted, End::split, End::failed);
  const std::vector<int> device_of{4, 5, 4};
  Together all({}, device_of, 100);
  cuCtxSetCurrent(nullptr);
  const int retained = retained_here();
  if (end == End::failed) {
    std::vector<ncclComm_t> comms(3, no_comm());
    fake_fail_next("cuDevicePrimaryCtxRetain", 2);
    expect_error(ncclCommInitAll(comms.data(), 3, device_of.data()), ncclUnhandledCudaError,
                 "of device 4");
    expect_no_comms(comms);
    CHECK(retained_here() == retained);
    return;
  }
  std::vector<ncclComm_t>& comms = all.comms = init_on(device_of);
  CHECK(retained_here() > retained);
  expect(all.reduce_all());
  all.finish();
  if (end == End::split) {
    std::vector<ncclComm_t> children(3);
    in_group(3, [&](std::size_t r) {
      expect(ncclCommSplit(comms[r], r == 1 ? 1 : 0, 0, &children[r], nullptr));
    });
    destroy(comms);
    CHECK(retained_here() > retained);
    comms = children;
  }
  for (const ncclComm_t comm : comms)
    expect(end == End::aborted ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  wait_for_retained(retained);
}

TEST_CASE("one thread runs ranks on several devices, whichever is current", "[together]") {
  const std::vector<int> device_of = placed({1, 0, 6});
  const bool in_group_too = GENERATE(false, true);
  Together all({}, device_of, 300'001);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(placed({5}).front()) : nullptr);
  all.comms.resize(device_of.size());
  if (in_group_too) expect(ncclGroupStart());
  const EachForItself apart;
  expect(ncclCommInitAll(all.comms.data(), 3, device_of.data()));
  if (in_group_too) expect(ncclGroupEnd());
  const Launches launches;
  in_group(3, [&](std::size_t r) {
    cuCtxSetCurrent(device_context(device_of[(r + 1) % 3]));  // another rank's device
    expect(all.reduce(r));
  });
  all.finish();
  all.expect_sums();
  CHECK(launches.are(devices_in(device_of)));
  destroy(all.comms);
}

TEST_CASE("the null stream is that of each rank's own device", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 1, 6}, std::vector<int>{1, 1}));
  const Together all(device_of, 3000);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(placed({5}).front()) : nullptr);
  in_group(device_of.size(), [&](std::size_t r) {
    expect(ncclAllReduce(all.ranks[r]->in.data(), all.ranks[r]->out.data(), 3000, ncclInt, ncclSum,
                         all.comms[r], nullptr));
  });
  for (const int device : device_of) {
    cuCtxSetCurrent(device_context(device));
    expect_cuda(cuStreamSynchronize(nullptr));
  }
  all.expect_sums();
  destroy(all.comms);
}

TEST_CASE("kernels are loaded again into a context that was gone meanwhile", "[fake]") {
  if (lacks_kernels()) return;
  cuCtxSetCurrent(nullptr);
  const std::vector<int> nobody_elses{7, 7};
  while (fake_retained(7) != 0) expect_cuda(cuDevicePrimaryCtxRelease_v2(7));  // earlier tests'
  for (int life = 0; life < 2; ++life) {
    const int loaded = fake_calls("cuModuleLoadData");
    REQUIRE(fake_retained(7) == 0);
    destroy(init_on(nobody_elses));
    while (fake_retained(7) != 0) std::this_thread::yield();
    CHECK(fake_calls("cuModuleLoadData") > loaded);
  }
}

TEST_CASE("the log says how devices reach each other", "[fake]") {
  const auto [link, words] = GENERATE(table<FakeLink, const char*>(
      {{FakeLink::nvlink, "GPU buffers go from device to device (NVLink)"},
       {FakeLink::pcie, "GPU buffers go from device to device (PCIe)"},
       {FakeLink::none,
        "GPU buffers go through the host's memory: rank 0: rondo: cuCtxEnablePee"}}));
  fake_set_link(4, 5, link);
  cuCtxSetCurrent(nullptr);
  CHECK_THAT(logged_while([] { destroy(init_on({4, 5})); }), Catch::Contains(words));
  fake_set_link(4, 5, FakeLink::pcie);
}

}  // namespace
}  // namespace rondo::test
