// Groups in which one thread makes the calls of all ranks: order in streams, captures, and
// failures.

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

TEST_CASE("one thread's calls begin after all ranks' streams, and the streams go on after them",
          "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 0}));
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 1000, 1000);
  std::vector<int> sums(1000);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 5 * static_cast<int>(i % 7) + 13;
  StreamGate gate(all[2]->stream);
  // Ranks 0 and 1 have 1 + i and 2 + i. After the gate rank 2 gets 3 * (1 + i) + 7.
  DeviceBuffer<int> late(1000, 0);
  std::vector<int> thrice = values<int>(1000, 0);
  for (int& value : thrice) value = 3 * value + 7;
  late.set(thrice);
  expect_cuda(cuMemcpyAsync(cuda::address_of(all[2]->in.data()), cuda::address_of(late.data()),
                            4000, all[2]->stream));
  in_group(3, [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 1000, ncclInt, ncclSum, comms[r],
                         all[r]->stream));
  });
  // The next call's input is this one's output, also where it is in another stream.
  const DeviceStream other;
  in_group(3, [&](std::size_t r) {
    const bool moves = r == 0;
    expect(ncclAllReduce(all[r]->out.data(), all[r]->out.data(), 1000, ncclInt, ncclMax, comms[r],
                         moves ? static_cast<cudaStream_t>(other) : all[r]->stream));
  });
  CHECK(all[0]->out.get() == std::vector<int>(1000, 99));
  gate.open();
  other.finish();
  for (const auto& rank : all) CHECK(rank->out.get() == sums);
  finish(all);
  destroy(comms);
}

TEST_CASE("one thread's group and single calls of the same communicator keep their order",
          "[together]") {
  const std::vector<int> device_of = placed({0, 0});
  const std::vector<ncclComm_t> comms = init_each_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 1, 1);
  const auto reduce = [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->in.data(), 1, ncclInt, ncclSum, comms[r],
                         all[r]->stream));
  };
  for (int round = 0; round < 3; ++round) {
    in_group(2, reduce);
    for (std::size_t r = 0; r < 2; ++r) reduce(r);  // each by itself, from device to device
    std::vector<ncclComm_t> halves(2);
    in_group(2, [&](std::size_t r) { expect(ncclCommSplit(comms[r], 0, 0, &halves[r], nullptr)); });
    in_group(2, [&](std::size_t r) {
      expect(ncclAllReduce(all[r]->in.data(), all[r]->in.data(), 1, ncclInt, ncclSum, halves[r],
                           all[r]->stream));
    });
    destroy(halves);
  }
  finish(all);
  // 1 and 2 are 3, then doubled 2 times, and 3 times in each of the other rounds.
  for (const auto& rank : all) CHECK(rank->in.get() == std::vector<int>{3 * 256});
  destroy(comms);
}

TEST_CASE("one thread's groups are captured and replayed", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0}, std::vector<int>{0, 1}));
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 1000, 1000);
  const Launches launches;
  cuCtxSetCurrent(device_context(0));
  const cuda::OwnedEvent fork = cuda::make_event();
  cuCtxSetCurrent(device_context(device_of.back()));
  const cuda::OwnedEvent back = cuda::make_event();
  cuCtxSetCurrent(device_context(0));
  const cudaStream_t first = all[0]->stream;
  const cudaStream_t second = all[1]->stream;
  {
    const CapturedGraph graph(first, [&] {
      expect_cuda(cuEventRecord(fork.get(), first));
      expect_cuda(cuStreamWaitEvent(second, fork.get(), 0));
      for (int i = 0; i < 2; ++i) {
        in_group(2, [&](std::size_t r) {
          expect(ncclAllReduce(all[r]->in.data(), all[r]->in.data(), 1000, ncclInt, ncclSum,
                               comms[r], all[r]->stream));
        });
      }
      expect_cuda(cuEventRecord(back.get(), second));
      expect_cuda(cuStreamWaitEvent(first, back.get(), 0));
    });
    CHECK(launches.are(0));
    for (int round = 0; round < 3; ++round) graph.launch(first);
    all[0]->stream.finish();
    CHECK(launches.are(6 * devices_in(device_of)));
  }
  for (const auto& rank : all) {
    std::vector<int> got = rank->in.get();
    for (std::size_t i = 0; i < got.size(); ++i) got[i] -= 32 * sum_at(i, 2);
    CHECK(got == std::vector<int>(1000, 0));
  }
  destroy(comms);
}

TEST_CASE("one thread's captured group can be replayed when its communicator is gone",
          "[together]") {
  const std::vector<int> device_of = placed({0, 0});
  const std::vector<ncclComm_t> comms = init_each_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 1, 1);
  const cudaStream_t stream = all[0]->stream;
  const auto reduce = [&](std::size_t r, cudaStream_t in) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->in.data(), 1, ncclInt, ncclSum, comms[r], in));
  };
  // Each rank makes a call by itself first, so each has an order to keep.
  for (std::size_t r = 0; r < 2; ++r) reduce(r, all[r]->stream);
  const auto reduce_together = [&] { in_group(2, [&](std::size_t r) { reduce(r, stream); }); };
  reduce_together();
  {
    const CapturedGraph graph(stream, reduce_together);
    graph.launch(stream);
    finish(all);
    destroy(comms);
    graph.launch(stream);
    finish(all);
  }
  if (RONDO_WITH_KERNELS != 0) CHECK(all[1]->in.get() == std::vector<int>{3 * 8});
}

TEST_CASE("calls of one thread's group that devices cannot make take another way", "[together]") {
  const bool differ_on_host = GENERATE(false, true);
  const std::vector<int> device_of = placed({0, 0});
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 1000, 1000);
  std::vector<std::vector<int>> host(2, std::vector<int>(1000, -1));
  const Launches launches;
  in_group(2, [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), host[r].data(), 1000, ncclInt, ncclMax, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& values_of_rank : host) CHECK(values_of_rank == values<int>(1000, 1));
  CHECK(launches.are(0));
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) {  // ranks that disagree
    int* const out = differ_on_host ? host[r].data() : all[r]->out.data();
    expect(ncclAllReduce(all[r]->in.data(), out, 1000 - r, ncclInt, ncclMax, comms[r],
                         all[r]->stream));
  }
  const ncclResult_t at_once = ncclGroupEnd();
  if (at_once != ncclSuccess) CHECK(at_once == ncclInvalidUsage);
  finish(all);
  for (const ncclComm_t comm : comms) CHECK(settled(comm) == ncclInvalidUsage);
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

TEST_CASE("every rank's communicator reports a launch that fails", "[together][fake]") {
  const std::vector<int> device_of = placed({0, 0});
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 100, 100);
  const auto reduce = [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 100, ncclInt, ncclSum, comms[r],
                         all[r]->stream));
  };
  in_group(2, reduce);
  finish(all);
  if (RONDO_WITH_KERNELS == 0) {  // nothing is launched
    destroy(comms);
    return;
  }
  fake_fail_next("cuLaunchKernel", 719);
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) reduce(r);
  CHECK_NOTHROW(expect_error(ncclGroupEnd(), ncclUnhandledCudaError, "cuLaunchKernel"));
  for (const ncclComm_t comm : comms) CHECK(settled(comm) == ncclUnhandledCudaError);
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) reduce(r);
  CHECK(ncclGroupEnd() == ncclUnhandledCudaError);
  finish(all);
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

/// One thread's group, whichever way it goes.
void reduce_maximum(const std::vector<ncclComm_t>& comms, const std::vector<int>& device_of) {
  const Ranks<int> all = make_ranks<int>(device_of, 100, 100);
  in_group(2, [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 100, ncclInt, ncclMax, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == values<int>(100, 1));
}

TEST_CASE("one thread's group takes another way where a device cannot be reached",
          "[together][fake]") {
  const std::vector<int> device_of = placed({4, 5});
  const std::vector<ncclComm_t> comms = init_each_on(device_of);
  const int before = batches();
  if (RONDO_WITH_KERNELS != 0) fake_fail_next("cuCtxEnablePeerAccess", 217);  // only for kernels
  reduce_maximum(comms, device_of);
  CHECK((batches() > before) == (RONDO_WITH_KERNELS != 0));  // each rank by itself
  destroy(comms);
}

TEST_CASE("one thread's group goes through the host where nothing else is allowed",
          "[together][fake]") {
  const std::vector<int> device_of = placed({4, 5});
  const Setting setting("NCCL_P2P_DISABLE", "1");
  const std::vector<ncclComm_t> comms = init_each_on(device_of);
  const int before = batches();
  const Launches launches;
  reduce_maximum(comms, device_of);
  CHECK(launches.are(0));
  CHECK(batches() == before);
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
