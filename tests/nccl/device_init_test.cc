// ncclCommInitAll over devices: every rank gets its device's context, whatever is current, and
// gives it back. Devices that do not exist are refused.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/kernels.h"
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
  CHECK_NOTHROW(expect_error(ncclCommInitAll(comms.data(), 3, list.data()), ncclInvalidArgument,
                             "devlist[1] is " + std::to_string(devices) +
                                 ", and this process has " + std::to_string(devices)));
  expect_no_comms(comms);
  const int too_many = devices + 1;
  comms.assign(static_cast<std::size_t>(too_many), no_comm());
  CHECK_NOTHROW(expect_error(ncclCommInitAll(comms.data(), too_many, nullptr), ncclInvalidArgument,
                             "ndev is " + std::to_string(too_many)));
  expect_no_comms(comms);
  CHECK(fake_retained(-1) <= retained);  // fewer: an earlier communicator's are given back
}

TEST_CASE("calls go between devices even if none was current when ranks were made", "[fake]") {
  const std::vector<int> device_of = GENERATE(std::vector<int>{4, 5}, std::vector<int>{5, 5, 4});
  for (const int device : device_of) device_context(device);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(0) : nullptr);
  const int before = batches();
  const int retained = retained_here() + static_cast<int>(device_of.size());  // each thread's own
  run_members(init_on(device_of), [&](int rank, ncclComm_t comm) {
    const int device = device_of[static_cast<std::size_t>(rank)];
    cuCtxSetCurrent(device_context(device));
    int said = -1;
    expect(ncclCommCuDevice(comm, &said));
    expect_that(said == device, "the device is " + std::to_string(said));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(numbers(1000, rank));
    expect(ncclBroadcast(buffer.data(), buffer.data(), 1000, ncclInt, 1, comm, stream));
    stream.finish();
    expect_that(buffer.get() == numbers(1000, 1), "the broadcast");
  });
  CHECK(batches() > before);
  wait_for_retained(retained);
}

TEST_CASE("a rank that has no context current is one of device 0", "[fake]") {
  const int before = batches();
  const int retained = fake_retained(0);  // each thread of run_members() adds its own
  std::vector<ncclComm_t> comms(2);
  ncclUniqueId id{};
  expect(ncclGetUniqueId(&id));
  expect(ncclGroupStart());
  for (const int rank : {0, 1}) {
    cuCtxSetCurrent(rank == 0 ? nullptr : device_context(1));
    expect(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 2, id, rank));
  }
  expect(ncclGroupEnd());
  CHECK(fake_retained(0) > retained);
  run_members(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(rank));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(numbers(1000, rank));
    expect(ncclBroadcast(buffer.data(), buffer.data(), 1000, ncclInt, 1, comm, stream));
    stream.finish();
    expect_that(buffer.get() == numbers(1000, 1), "the broadcast");
  });
  CHECK(batches() > before);
  while (fake_retained(0) > retained + 1) std::this_thread::yield();
}

TEST_CASE("contexts are given back, whichever way a communicator ends", "[fake]") {
  enum class End { destroyed, aborted, split, failed };
  const End end = GENERATE(End::destroyed, End::aborted, End::split, End::failed);
  const std::vector<int> device_of{4, 5, 4};
  const Ranks<int> all = make_ranks<int>(device_of, 100, 100);
  cuCtxSetCurrent(nullptr);
  const int retained = retained_here();
  if (end == End::failed) {
    std::vector<ncclComm_t> comms(3, no_comm());
    fake_fail_next("cuDevicePrimaryCtxRetain", 2);
    CHECK_NOTHROW(expect_error(ncclCommInitAll(comms.data(), 3, device_of.data()),
                               ncclUnhandledCudaError, "of device 4"));
    expect_no_comms(comms);
    CHECK(retained_here() == retained);
    return;
  }
  std::vector<ncclComm_t> comms = init_on(device_of);
  CHECK(retained_here() > retained);
  in_group(3, [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 100, ncclInt, ncclSum, comms[r],
                         all[r]->stream));
  });
  finish(all);
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
  const Ranks<int> all = make_ranks<int>(device_of, 300'001, 300'001);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(placed({5}).front()) : nullptr);
  std::vector<ncclComm_t> comms(device_of.size());
  if (in_group_too) expect(ncclGroupStart());
  const EachForItself apart;
  expect(ncclCommInitAll(comms.data(), 3, device_of.data()));
  if (in_group_too) expect(ncclGroupEnd());
  std::vector<int> sums(300'001);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_at(i, 3);
  const Launches launches;
  in_group(3, [&](std::size_t r) {
    cuCtxSetCurrent(device_context(device_of[(r + 1) % 3]));  // another rank's device
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), sums.size(), ncclInt, ncclSum,
                         comms[r], all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == sums);
  CHECK(launches.are(devices_in(device_of)));
  destroy(comms);
}

TEST_CASE("the null stream is that of each rank's own device", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 1, 6}, std::vector<int>{1, 1}));
  const Ranks<int> all = make_ranks<int>(device_of, 3000, 3000);
  const std::vector<ncclComm_t> comms = init_on(device_of);
  std::vector<int> sums(3000);
  const int ranks = static_cast<int>(device_of.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_at(i, ranks);
  cuCtxSetCurrent(GENERATE(false, true) ? device_context(placed({5}).front()) : nullptr);
  in_group(comms.size(), [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), sums.size(), ncclInt, ncclSum,
                         comms[r], nullptr));
  });
  for (std::size_t r = 0; r < comms.size(); ++r) {
    cuCtxSetCurrent(device_context(device_of[r]));
    expect_cuda(cuStreamSynchronize(nullptr));
    CHECK(all[r]->out.get() == sums);
  }
  destroy(comms);
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
  struct Row {
    FakeLink link;
    const char* words;
  };
  const Row row =
      GENERATE(Row{FakeLink::nvlink, "GPU buffers go from device to device (NVLink)"},
               Row{FakeLink::pcie, "GPU buffers go from device to device (PCIe)"},
               Row{FakeLink::none,
                   "GPU buffers go through the host's memory: rank 0: rondo: cuCtxEnablePee"});
  const std::string path =
      RONDO_TEST_FOLDER "/links" + std::to_string(static_cast<int>(row.link)) + ".log";
  std::remove(path.c_str());
  fake_set_link(4, 5, row.link);
  cuCtxSetCurrent(nullptr);
  {
    const Setting level("NCCL_DEBUG", "INFO");
    const Setting file("NCCL_DEBUG_FILE", path);
    destroy(init_on({4, 5}));
  }
  fake_set_link(4, 5, FakeLink::pcie);
  destroy(init_all(1));  // which logs as the environment says again
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  INFO(text.str());
  CHECK(text.str().find(row.words) != std::string::npos);
}

}  // namespace
}  // namespace rondo::test
