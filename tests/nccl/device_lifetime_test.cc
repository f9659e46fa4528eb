// Communicators with GPU buffers after a failure or finalize, contexts that are gone, and memory
// that is freed beside another communicator's call.

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"
#include "tests/nccl/without_blocking.h"

namespace rondo::test {
namespace {

ncclResult_t sum(const Rank<int>& mine, ncclComm_t comm, std::size_t count = 1000) {
  return ncclAllReduce(mine.in.data(), mine.out.data(), count, ncclInt, ncclSum, comm, mine.stream);
}

/// All ranks' calls in one group.
ncclResult_t sum_together(const Ranks<int>& all, const std::vector<ncclComm_t>& comms) {
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < comms.size(); ++r) sum(*all[r], comms[r]);
  return ncclGroupEnd();
}

TEST_CASE("kernels of a context that is gone do not serve a new one at the same address",
          "[fake]") {
  constexpr int device = 7;  // no other file's tests use it
  const std::vector<int> device_of{device, device};
  const Ranks<int> all = make_ranks<int>(device_of, 1000, 1000);
  std::vector<int> sums(1000);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_at(i, 2);
  for (int life = 0; life < 3; ++life) {
    const std::vector<ncclComm_t> comms = init_each_on(device_of);
    const Launches launches;
    expect(sum_together(all, comms));
    finish(all);
    for (const auto& rank : all) CHECK(rank->out.get() == sums);
    CHECK(launches.are(1));
    on_all_ranks(2, [&](int rank) {
      cuCtxSetCurrent(device_context(device));
      const auto r = static_cast<std::size_t>(rank);
      all[r]->out.set(std::vector<int>(1000, 0));
      expect(sum(*all[r], comms[r]));
      all[r]->stream.finish();
      expect_that(all[r]->out.get() == sums, "each by itself");
    });
    destroy(comms);
    fake_renew_context(device_context(device));
  }
}

TEST_CASE("a communicator that has failed takes no group of one thread's calls") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const bool before = GENERATE(true, false);   // such groups were made before
  const bool on_host = GENERATE(true, false);  // where the ranks disagreed
  const std::vector<ncclComm_t> comms = init(way, 2);
  const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
  if (before) expect(sum_together(all, comms));
  finish(all);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto r = static_cast<std::size_t>(rank);
    if (on_host) {
      std::vector<int> values(100, 1);
      const ncclResult_t result = ncclAllReduce(values.data(), values.data(), 50 + 50 * r, ncclInt,
                                                ncclSum, comms[r], nullptr);
      expect_that(result != ncclSuccess, "the ranks disagree");
    } else {
      sum(*all[r], comms[r], 500 + 500 * r);
      all[r]->stream.finish();
    }
  });
  // One rank meets the mismatch, the other one may hear of it first.
  for (const ncclComm_t comm : comms) CHECK(failure_of(comm) != ncclSuccess);
  const ncclResult_t together = sum_together(all, comms);
  CHECK((together == ncclInvalidUsage || together == ncclRemoteError));
  finish(all);
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

TEST_CASE("a finalized communicator takes no call on GPU buffers, however it is made") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const bool before = GENERATE(true, false);  // such calls were made before
  const std::vector<ncclComm_t> comms = init(way, 2);
  const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
  if (before) expect(sum_together(all, comms));
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto r = static_cast<std::size_t>(rank);
    if (before) expect(sum(*all[r], comms[r]));
    expect(ncclCommFinalize(comms[r]));
    expect_error(sum(*all[r], comms[r]), ncclInvalidUsage, "this communicator was finalized");
    expect_error(ncclSend(all[r]->in.data(), 10, ncclInt, 1 - rank, comms[r], all[r]->stream),
                 ncclInvalidUsage, "this communicator was finalized");
    expect(ncclGroupStart());
    expect_error(sum(*all[r], comms[r]), ncclInvalidUsage, "this communicator was finalized");
    expect(ncclGroupEnd(), ncclInvalidUsage);
    std::vector<int> values(10, 1);
    expect_error(
        ncclAllReduce(values.data(), values.data(), 10, ncclInt, ncclSum, comms[r], nullptr),
        ncclInvalidUsage, "this communicator was finalized");
    all[r]->stream.finish();
  });
  CHECK_NOTHROW(
      expect_error(sum_together(all, comms), ncclInvalidUsage, "this communicator was finalized"));
  for (const ncclComm_t comm : comms) {
    CHECK(settled(comm) == ncclSuccess);
    expect(ncclCommFinalize(comm));
  }
  destroy(comms);
}

TEST_CASE("finalizing a communicator that does not block waits for no call on GPU buffers") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const Setting setting("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  const std::vector<ncclComm_t> comms = init_without_blocking(2);
  const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
  std::vector<int> sums(1000);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_at(i, 2);
  const auto state_of = [&](std::size_t rank) {
    ncclResult_t state = ncclSuccess;
    expect(ncclCommGetAsyncError(comms[rank], &state));
    return state;
  };
  expect(sum(*all[0], comms[0]));
  CHECK(ncclCommFinalize(comms[0]) == ncclInProgress);
  CHECK(state_of(0) == ncclInProgress);  // the other rank has not made its call
  CHECK_NOTHROW(expect_error(sum(*all[0], comms[0]), ncclInvalidArgument, "still in progress"));
  expect(sum(*all[1], comms[1]));
  CHECK(settled(comms[0]) == ncclSuccess);
  CHECK_NOTHROW(
      expect_error(sum(*all[0], comms[0]), ncclInvalidUsage, "this communicator was finalized"));
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == sums);
  CHECK(ncclCommFinalize(comms[1]) == ncclInProgress);
  CHECK(settled(comms[1]) == ncclSuccess);
  destroy(comms);
}

TEST_CASE("a group does not outlive its communicator's end", "[together]") {
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
  expect(sum_together(all, comms));
  finish(all);
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < 2; ++r) expect(sum(*all[r], comms[r]));
  on_all_ranks(2,
               [&](int rank) { expect(ncclCommFinalize(comms[static_cast<std::size_t>(rank)])); });
  const Launches launches;
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  finish(all);
  CHECK(launches.are(0));
  destroy(comms);
}

/// While it lives, freeing memory waits for the device.
struct FreesWait {
  FreesWait() { fake_free_waits(true); }
  ~FreesWait() { fake_free_waits(false); }
  FreesWait(const FreesWait&) = delete;
  FreesWait& operator=(const FreesWait&) = delete;
};

TEST_CASE("communicators come and go beside a call that waits for this same thread", "[fake]") {
  const Way waiting = GENERATE(Way::through_host, Way::between_devices);
  const Way other = GENERATE(Way::through_host, Way::between_devices);
  const bool lacks_memory = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init(waiting, 2);
  const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
  std::vector<int> sums(1000);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_at(i, 2);
  const int blocks = fake_blocks();
  {
    const FreesWait waits;
    expect(sum(*all[0], comms[0]));
    if (lacks_memory) fake_fail_next("cuMemAlloc", 2);
    const std::vector<ncclComm_t> others = init(other, 2);
    fake_fail_next("cuMemAlloc", 0);
    for (const ncclComm_t comm : others) expect(ncclCommAbort(comm));
    expect(sum(*all[1], comms[1]));
    finish(all);
    for (const auto& rank : all) CHECK(rank->out.get() == sums);
    expect_blocks(blocks);
  }
  destroy(comms);
}

TEST_CASE("communicators that go hold up no thread that makes calls", "[fake]") {
  const Way before = GENERATE(Way::through_host, Way::between_devices);
  const Way after = GENERATE(Way::through_host, Way::between_devices);
  const FreesWait waits;
  int pinned = 0;  // after the first round, and what earlier tests have left
  for (int round = 0; round < 10; ++round) {
    const std::vector<ncclComm_t> gone = init(before, 2);
    run_on_device(gone, [](int /*rank*/, ncclComm_t comm) {
      const DeviceStream stream;
      const DeviceBuffer<int> buffer(1000, 1);
      expect(ncclAllReduce(buffer.data(), buffer.data(), 1000, ncclInt, ncclSum, comm, stream));
      stream.finish();
    });
    // Now a call waits for another thread's, while what has gone gives its memory back.
    const std::vector<ncclComm_t> comms = init(after, 2);
    const Ranks<int> all = make_ranks<int>({0, 0}, 1000, 1000);
    expect(sum(*all[0], comms[0]));
    const int blocks = after == Way::through_host ? 0 : 2;
    expect_blocks(blocks + 4);  // the ranks' own: two each
    expect(sum(*all[1], comms[1]));
    finish(all);
    destroy(comms);
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
    CHECK_NOTHROW(expect_error(
        ncclAllReduce(buffer.data(), buffer.data(), 10, ncclInt, ncclSum, comms[0], stream),
        ncclUnhandledCudaError, function));
    cuda::Graph graph = nullptr;
    cuStreamEndCapture(stream, &graph);  // a graph of what was put there before
    cuGraphDestroy(graph);
  }
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
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
    const CapturedGraph graph(stream, [&] {
      expect(ncclAllReduce(buffer.data(), buffer.data(), 10, ncclInt, ncclSum, alone[0], stream));
    });
    fake_break_context(device_context(device));
    fake_lose_memory(device);
    const auto all_frees = [] { return fake_calls("cuMemFree") + fake_calls("cuMemFreeAsync"); };
    const int frees = all_frees();
    for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
    for (const ncclComm_t comm : alone) expect(ncclCommAbort(comm));
    expect_blocks(0);  // so their threads have ended
    CHECK(all_frees() == frees);
  }
  fake_renew_context(device_context(device));  // for other tests
  cuCtxSetCurrent(device_context(0));
}

/// A function that the driver may refuse, and the kind of memory.
struct Refusal {
  const char* segments;  ///< RONDO_CUMEM_ENABLE
  const char* function;
};

TEST_CASE("memory that the driver does not take back is reported, and can be freed again",
          "[fake]") {
  const auto refusal = GENERATE(Refusal{"0", "cuMemFree"}, Refusal{"1", "cuMemUnmap"},
                                Refusal{"1", "cuMemAddressFree"});
  const Setting segments("RONDO_CUMEM_ENABLE", refusal.segments);
  cuCtxSetCurrent(device_context(0));
  expect_blocks(0);  // so nobody else gives any back
  void* memory = nullptr;
  expect(ncclMemAlloc(&memory, 1000));
  CHECK(fake_blocks() > 0);
  fake_fail_next(refusal.function, 700);
  CHECK_NOTHROW(expect_error(ncclMemFree(memory), ncclUnhandledCudaError, refusal.function));
  CHECK(fake_blocks() > 0);
  cuCtxSetCurrent(nullptr);  // as on another thread, say
  CHECK(ncclMemFree(memory) == ncclSuccess);
  CHECK(fake_blocks() == 0);
  CHECK_NOTHROW(
      expect_error(ncclMemFree(memory), ncclInvalidArgument, "no memory of ncclMemAlloc"));
}

}  // namespace
}  // namespace rondo::test
