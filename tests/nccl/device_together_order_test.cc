// Groups in which one thread makes the calls of all ranks: order in streams, captures, and
// failures.

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

TEST_CASE("one thread's calls begin after all ranks' streams, and the streams go on after them",
          "[together]") {
  const Together all(placed(GENERATE(std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 0})), 1000);
  std::vector<int> sums(1000);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 5 * static_cast<int>(i % 7) + 13;
  const cudaStream_t last = all.ranks[2]->stream;
  StreamGate gate(last);
  // Ranks 0 and 1 have 1 + i and 2 + i. After the gate rank 2 gets 3 * (1 + i) + 7.
  DeviceBuffer<int> late(1000, 0);
  std::vector<int> thrice = values<int>(1000, 0);
  for (int& value : thrice) value = 3 * value + 7;
  late.set(thrice);
  expect_cuda(cuMemcpyAsync(cuda::address_of(all.ranks[2]->in.data()),
                            cuda::address_of(late.data()), 4000, last));
  expect(all.reduce_all());
  // The next call's input is this one's output, also where it is in another stream.
  const DeviceStream other;
  in_group(3, [&](std::size_t r) {
    const cudaStream_t stream = r == 0 ? other : all.ranks[r]->stream;
    expect(all_reduce(all.ranks[r]->out, 1000, all.comms[r], stream, ncclMax));
  });
  CHECK(all.ranks[0]->out.is_all(99));
  gate.open();
  other.finish();
  all.expect_outputs(sums);
  all.finish();
  destroy(all.comms);
}

/// A rank's sum in place of its one value.
void add(const Together& all, const std::vector<ncclComm_t>& comms, std::size_t rank,
         cudaStream_t stream) {
  expect(all_reduce(all.ranks[rank]->in, 1, comms[rank], stream));
}

TEST_CASE("one thread's group and single calls of the same communicator keep their order",
          "[together]") {
  const std::vector<int> device_of = placed({0, 0});
  const Together all(init_each_on(device_of), device_of, 1);
  const auto reduce = [&](const std::vector<ncclComm_t>& comms) {
    return [&](std::size_t r) { add(all, comms, r, all.ranks[r]->stream); };
  };
  for (int round = 0; round < 3; ++round) {
    in_group(2, reduce(all.comms));
    for (std::size_t r = 0; r < 2; ++r) reduce(all.comms)(r);  // each from device to device
    std::vector<ncclComm_t> halves(2);
    in_group(
        2, [&](std::size_t r) { expect(ncclCommSplit(all.comms[r], 0, 0, &halves[r], nullptr)); });
    in_group(2, reduce(halves));
    destroy(halves);
  }
  all.finish();
  // 1 and 2 are 3, then doubled 2 times, and 3 times in each of the other rounds.
  for (const auto& rank : all.ranks) CHECK(rank->in.get() == std::vector<int>{3 * 256});
  destroy(all.comms);
}

TEST_CASE("one thread's groups are captured and replayed", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0}, std::vector<int>{0, 1}));
  const Together all(device_of, 1000);
  const Launches launches;
  cuCtxSetCurrent(device_context(device_of.back()));
  const cuda::OwnedEvent back = cuda::make_event();
  cuCtxSetCurrent(device_context(0));
  const cuda::OwnedEvent fork = cuda::make_event();
  const cudaStream_t first = all.ranks[0]->stream;
  const cudaStream_t second = all.ranks[1]->stream;
  {
    const CapturedGraph graph(first, [&] {
      expect_cuda(cuEventRecord(fork.get(), first));
      expect_cuda(cuStreamWaitEvent(second, fork.get(), 0));
      for (int i = 0; i < 2; ++i) {
        in_group(2, [&](std::size_t r) {
          expect(all_reduce(all.ranks[r]->in, 1000, all.comms[r], all.ranks[r]->stream));
        });
      }
      expect_cuda(cuEventRecord(back.get(), second));
      expect_cuda(cuStreamWaitEvent(first, back.get(), 0));
    });
    CHECK(launches.are(0));
    for (int round = 0; round < 3; ++round) graph.launch(first);
    all.ranks[0]->stream.finish();
    CHECK(launches.are(6 * devices_in(device_of)));
  }
  std::vector<int> sums = sums_of_values(1000, 2);
  for (int& sum : sums) sum *= 32;
  for (const auto& rank : all.ranks) CHECK(rank->in.get() == sums);
  destroy(all.comms);
}

TEST_CASE("one thread's captured group can be replayed when its communicator is gone",
          "[together]") {
  const std::vector<int> device_of = placed({0, 0});
  const Together all(init_each_on(device_of), device_of, 1);
  const cudaStream_t stream = all.ranks[0]->stream;
  // Each rank makes a call by itself first, so each has an order to keep.
  for (std::size_t r = 0; r < 2; ++r) add(all, all.comms, r, all.ranks[r]->stream);
  const auto add_together = [&] {
    in_group(2, [&](std::size_t r) { add(all, all.comms, r, stream); });
  };
  add_together();
  {
    const CapturedGraph graph(stream, add_together);
    graph.launch(stream);
    all.finish();
    destroy(all.comms);
    graph.launch(stream);
    all.finish();
  }
  if (has_kernels) CHECK(all.ranks[1]->in.get() == std::vector<int>{3 * 8});
}

TEST_CASE("calls of one thread's group that devices cannot make take another way", "[together]") {
  const bool differ_on_host = GENERATE(false, true);
  const Together all(placed({0, 0}), 1000);
  std::vector<std::vector<int>> host(2, std::vector<int>(1000, -1));
  const auto reduce = [&](std::size_t r, bool to_host, std::size_t count) {
    const Rank<int>& mine = *all.ranks[r];
    expect(ncclAllReduce(mine.in.data(), to_host ? host[r].data() : mine.out.data(), count, ncclInt,
                         ncclMax, all.comms[r], mine.stream));
  };
  const Launches launches;
  in_group(2, [&](std::size_t r) { reduce(r, true, 1000); });
  all.finish();
  for (const auto& values_of_rank : host) CHECK(values_of_rank == values<int>(1000, 1));
  CHECK(launches.are(0));
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) reduce(r, differ_on_host, 1000 - r);  // ranks that disagree
  const ncclResult_t at_once = ncclGroupEnd();
  if (at_once != ncclSuccess) CHECK(at_once == ncclInvalidUsage);
  all.finish();
  for (const ncclComm_t comm : all.comms) CHECK(settled(comm) == ncclInvalidUsage);
  abort_all(all.comms);
}

TEST_CASE("every rank's communicator reports a launch that fails", "[together][fake]") {
  const Together all(placed({0, 0}), 100);
  expect(all.reduce_all());
  all.finish();
  if (!has_kernels) return destroy(all.comms);  // nothing is launched
  fake_fail_next("cuLaunchKernel", 719);
  expect_error(all.reduce_all(), ncclUnhandledCudaError, "cuLaunchKernel");
  for (const ncclComm_t comm : all.comms) CHECK(settled(comm) == ncclUnhandledCudaError);
  CHECK(all.reduce_all() == ncclUnhandledCudaError);
  all.finish();
  abort_all(all.comms);
}

TEST_CASE(
    "one thread's group takes another way where a device cannot be reached, or none is allowed",
    "[together][fake]") {
  const bool allowed = GENERATE(true, false);
  const std::vector<int> device_of = placed({4, 5});
  const Setting setting("NCCL_P2P_DISABLE", allowed ? "0" : "1");
  const Together all(init_each_on(device_of), device_of, 100);
  const int before = device_parts();
  const Launches launches;
  if (has_kernels && allowed) fake_fail_next("cuCtxEnablePeerAccess", 217);  // only for kernels
  expect(all.reduce_all(ncclMax));
  all.finish();
  all.expect_outputs(values<int>(100, 1));
  CHECK((device_parts() > before) == (has_kernels && allowed));  // each rank by itself
  if (!allowed) CHECK(launches.are(0));
  destroy(all.comms);
}

}  // namespace
}  // namespace rondo::test
