// Communicators with GPU buffers after a failure or finalize, contexts that are gone, and memory
// that is freed beside another communicator's call.

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

TEST_CASE("kernels of a context that is gone do not serve a new one at the same address",
          "[fake]") {
  constexpr int device = 7;  // no other file's tests use it
  const std::vector<int> device_of{device, device};
  Together all({}, device_of, 1000);
  for (int life = 0; life < 3; ++life) {
    all.comms = init_each_on(device_of);
    const Launches launches;
    expect(all.reduce_all());
    all.finish();
    all.expect_sums();
    CHECK(launches.are(1));
    on_all_ranks(2, [&](int rank) {
      cuCtxSetCurrent(device_context(device));
      const auto r = static_cast<std::size_t>(rank);
      all.ranks[r]->out.set(std::vector<int>(1000, 0));
      expect(all.reduce(r));
      all.ranks[r]->stream.finish();
    });
    all.expect_sums();  // each by itself
    destroy(all.comms);
    fake_renew_context(device_context(device));
  }
}

TEST_CASE("a communicator that has failed takes no group of one thread's calls") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const bool before = GENERATE(true, false);   // such groups were made before
  const bool on_host = GENERATE(true, false);  // where the ranks disagreed
  Together all(init(way, 2), {0, 0}, 1000);
  if (before) expect(all.reduce_all());
  all.finish();
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t count = 50 + 50 * r;
    if (on_host) {
      std::vector<int> values(100, 1);
      expect_that(all_reduce(values, count, all.comms[r], nullptr) != ncclSuccess,
                  "the ranks disagree");
    } else {
      all_reduce(all.ranks[r]->out, count, all.comms[r], all.ranks[r]->stream);
      all.ranks[r]->stream.finish();
    }
  });
  // One rank meets the mismatch, the other one may hear of it first.
  for (const ncclComm_t comm : all.comms) CHECK(failure_of(comm) != ncclSuccess);
  const ncclResult_t together = all.reduce_all();
  CHECK((together == ncclInvalidUsage || together == ncclRemoteError));
  all.finish();
  abort_all(all.comms);
}

constexpr const char* finalized = "this communicator was finalized";

TEST_CASE("a finalized communicator takes no call on GPU buffers, however it is made") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const bool before = GENERATE(true, false);  // such calls were made before
  const Together all(init(way, 2), {0, 0}, 1000);
  if (before) expect(all.reduce_all());
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto r = static_cast<std::size_t>(rank);
    const ncclComm_t comm = all.comms[r];
    const auto refused = [](ncclResult_t result) {
      expect_error(result, ncclInvalidUsage, finalized);
    };
    if (before) expect(all.reduce(r));
    expect(ncclCommFinalize(comm));
    refused(all.reduce(r));
    refused(ncclSend(all.ranks[r]->in.data(), 10, ncclInt, 1 - rank, comm, all.ranks[r]->stream));
    expect(ncclGroupStart());
    refused(all.reduce(r));
    expect(ncclGroupEnd(), ncclInvalidUsage);
    std::vector<int> values(10, 1);
    refused(all_reduce(values, 10, comm, nullptr));
    all.ranks[r]->stream.finish();
  });
  expect_error(all.reduce_all(), ncclInvalidUsage, finalized);
  for (const ncclComm_t comm : all.comms) {
    CHECK(settled(comm) == ncclSuccess);
    expect(ncclCommFinalize(comm));
  }
  destroy(all.comms);
}

TEST_CASE("finalizing a communicator that does not block waits for no call on GPU buffers") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const Setting setting("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  cuCtxSetCurrent(device_context(0));
  const Together all(init_without_blocking(2), {0, 0}, 1000);
  const std::vector<ncclComm_t>& comms = all.comms;
  expect(all.reduce(0));
  CHECK(ncclCommFinalize(comms[0]) == ncclInProgress);
  ncclResult_t state = ncclSuccess;
  expect(ncclCommGetAsyncError(comms[0], &state));
  CHECK(state == ncclInProgress);  // the other rank has not made its call
  refused(all.reduce(0), "still in progress");
  expect(all.reduce(1));
  CHECK(settled(comms[0]) == ncclSuccess);
  expect_error(all.reduce(0), ncclInvalidUsage, finalized);
  all.finish();
  all.expect_sums();
  CHECK(ncclCommFinalize(comms[1]) == ncclInProgress);
  CHECK(settled(comms[1]) == ncclSuccess);
  destroy(comms);
}

TEST_CASE("a group does not outlive its communicator's end", "[together]") {
  const Together all(init_on_device(2), {0, 0}, 1000);
  expect(all.reduce_all());
  all.finish();
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) expect(all.reduce(r));
  on_all_ranks(
      2, [&](int rank) { expect(ncclCommFinalize(all.comms[static_cast<std::size_t>(rank)])); });
  const Launches launches;
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  all.finish();
  CHECK(launches.are(0));
  destroy(all.comms);
}

TEST_CASE("communicators come and go beside a call that waits for this same thread", "[fake]") {
  const Way waiting = GENERATE(Way::through_host, Way::between_devices);
  const Way other = GENERATE(Way::through_host, Way::between_devices);
  const bool lacks_memory = GENERATE(false, true);
  const Together all(init(waiting, 2), {0, 0}, 1000);
  const int blocks = fake_blocks();
  {
    const FreesWait waits;
    expect(all.reduce(0));
    if (lacks_memory) fake_fail_next("cuMemAlloc", 2);
    const std::vector<ncclComm_t> others = init(other, 2);
    fake_fail_next("cuMemAlloc", 0);
    abort_all(others);
    expect(all.reduce(1));
    all.finish();
    all.expect_sums();
    expect_blocks(blocks);
  }
  destroy(all.comms);
}

TEST_CASE("communicators that go hold up no thread that makes calls", "[fake]") {
  const Way before = GENERATE(Way::through_host, Way::between_devices);
  const Way after = GENERATE(Way::through_host, Way::between_devices);
  const FreesWait waits;
  int pinned = 0;  // after the first round, and what earlier tests have left
  for (int round = 0; round < 10; ++round) {
    run_on_device(init(before, 2), [](int /*rank*/, ncclComm_t comm) {
      const DeviceStream stream;
      const DeviceBuffer<int> buffer(1000, 1);
      expect(all_reduce(buffer, 1000, comm, stream));
      stream.finish();
    });
    // Now a call waits for another thread's, while what has gone gives its memory back.
    const Together all(init(after, 2), {0, 0}, 1000);
    expect(all.reduce(0));
    const int blocks = after == Way::through_host ? 0 : 2;
    expect_blocks(blocks + 4);  // the ranks' own: two each
    expect(all.reduce(1));
    all.finish();
    destroy(all.comms);
    if (round == 0) pinned = fake_pinned_blocks();
  }
  // Each round uses 12 blocks or more, and some come back only after the next ones were made.
  CHECK(fake_pinned_blocks() < pinned + 60);
}

TEST_CASE("a graph that cannot hold on to a call does not keep its communicator", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const char* const function = GENERATE("cuUserObjectCreate", "cuGraphRetainUserObject");
  const std::vector<ncclComm_t> comms = init(way, 2);
  {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(10, 1);
    expect_cuda(cuStreamBeginCapture_v2(stream, capture_thread_local));
    fake_fail_next(function, 2);
    expect_error(all_reduce(buffer, 10, comms[0], stream), ncclUnhandledCudaError, function);
    cuda::Graph graph = nullptr;
    cuStreamEndCapture(stream, &graph);  // a graph of what was put there before
    cuGraphDestroy(graph);
  }
  abort_all(comms);
  expect_blocks(0);  // so their threads have ended
}

TEST_CASE("memory of a context that is gone is left alone, even if a graph is the last to go",
          "[fake]") {
  constexpr int device = 6;
  expect_blocks(0);          // nobody frees anything beside this
  cuCtxSetCurrent(nullptr);  // so that communicators hold the context
  const std::vector<ncclComm_t> comms = init_on({device, device});
  const std::vector<ncclComm_t> alone = init_on({device});
  cuCtxSetCurrent(device_context(device));
  {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(10, 1);
    const CapturedGraph graph(stream, [&] { expect(all_reduce(buffer, 10, alone[0], stream)); });
    fake_break_context(device_context(device));
    fake_lose_memory(device);
    const auto all_frees = [] { return fake_calls("cuMemFree") + fake_calls("cuMemFreeAsync"); };
    const int frees = all_frees();
    abort_all(comms);
    for (const ncclComm_t comm : alone) expect(ncclCommAbort(comm));
    expect_blocks(0);  // so their threads have ended
    CHECK(all_frees() == frees);
  }
  fake_renew_context(device_context(device));  // for other tests
  cuCtxSetCurrent(device_context(0));
}

TEST_CASE("memory that the driver does not take back is reported, and can be freed again",
          "[fake]") {
  const auto [segments, function] = GENERATE(table<const char*, const char*>(
      {{"0", "cuMemFree"}, {"1", "cuMemUnmap"}, {"1", "cuMemAddressFree"}}));
  const Setting kind("RONDO_CUMEM_ENABLE", segments);
  cuCtxSetCurrent(device_context(0));
  expect_blocks(0);  // so nobody else gives any back
  void* memory = nullptr;
  expect(ncclMemAlloc(&memory, 1000));
  CHECK(fake_blocks() > 0);
  fake_fail_next(function, 700);
  expect_error(ncclMemFree(memory), ncclUnhandledCudaError, function);
  CHECK(fake_blocks() > 0);
  cuCtxSetCurrent(nullptr);  // as on another thread, say
  CHECK(ncclMemFree(memory) == ncclSuccess);
  CHECK(fake_blocks() == 0);
  refused(ncclMemFree(memory), "no memory of ncclMemAlloc");
}

}  // namespace
}  // namespace rondo::test
