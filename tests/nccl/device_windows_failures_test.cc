// Windows that are impossible or used wrongly. All ranks take another path or get an error, no
// stream waits for ever, and no rank reads memory that is gone.
#include <atomic>
#include <chrono>

#include "tests/catch.h"
#include "tests/nccl/windows.h"

namespace rondo::test {
namespace {

constexpr std::size_t count = summed_count;

TEST_CASE("all ranks are staged where one rank's memory cannot be a window") {
  const int how = GENERATE(0, 1, 2, 3);
  with_devices(3, [&](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> buffer(count, 0);
    std::vector<int> host(count);
    std::size_t bytes = count * sizeof(int);
    void* memory = buffer.data();
    if (rank == 1 && how == 0) memory = host.data();
    if (rank == 1 && how == 1) bytes -= 4;
    if (rank == 1 && how == 2) bytes += 4;  // more than the allocation has
    if (how == 3) bytes = 0;
    {
      const Window window(comm, memory, bytes);
      sum_up(comm, buffer, count, rank, 3);
    }
    const Window window(comm, buffer, count);
    sum_up(comm, buffer, count, rank, 3);
  });
}

TEST_CASE("memory without a handle, and managed memory, are no windows between devices", "[fake]") {
  const bool managed = GENERATE(false, true);
  with_calls_in_windows(0, [&](int rank, ncclComm_t comm) {
    cuda::DevicePointer address = 0;
    constexpr std::size_t bytes = count * sizeof(int);
    expect_cuda(managed ? cuMemAllocManaged(&address, bytes, 1)
                        : fake_allocate_unshared(&address, bytes));
    {
      int* const data = reinterpret_cast<int*>(address);
      const Window window(comm, data, count * sizeof(int));
      sum_in_place(comm, data, rank);
    }
    cuMemFree_v2(address);
  });
}

TEST_CASE("a driver that refuses a handle leaves all ranks staged", "[fake]") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> buffer(count, 0);
    if (rank == 0) fake_fail_next("cuIpcGetMemHandle", 2);
    const Window window(comm, buffer, count);
    sum_up(comm, buffer, count, rank, 2);
  });
}

TEST_CASE("ranks that use a window differently are told where each one's buffer is") {
  if (lacks_kernels()) return;  // no call would use a window
  const int how = GENERATE(0, 1, 2);
  with_ranks(3, true, [&](int rank, ncclComm_t comm) {
    constexpr std::size_t block = 10'000;
    const DeviceStream stream;
    const DeviceBuffer<int> first(2 * count, 1);
    const DeviceBuffer<int> second(count, 1);
    const DeviceBuffer<int> outside(count, 1);
    const Window one(comm, first, 2 * count);
    const Window two(comm, second, count);
    int* input = first.data() + 100;
    if (rank == 1 && how == 0) input = first.data() + 300;
    if (rank == 1 && how == 1) input = second.data();
    if (rank == 1 && how == 2) input = outside.data();
    const DeviceBuffer<int> out(block, 0);
    const ncclResult_t at_once =
        ncclReduceScatter(input, out.data(), block, ncclInt, ncclSum, comm, stream);
    expect_failing(at_once, stream, comm, ncclInvalidUsage);
    const std::string words = ncclGetLastError(comm);
    const std::string wrong = how == 0   ? "in window 1 at byte 1200"
                              : how == 1 ? "in window 2 at byte 0"
                                         : "in no window";
    expect_that(words.find("in window 1 at byte 400") != std::string::npos, words);
    expect_that(words.find(wrong) != std::string::npos, words);
    expect_that(words.find("rank 1") != std::string::npos, words);
  });
}

TEST_CASE("buffers that NCCL lets differ between ranks may lie anywhere in windows") {
  with_ranks(3, true, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const auto own = static_cast<std::size_t>(rank);
    const DeviceBuffer<int> memory(numbers(4 * count, rank));
    DeviceBuffer<int> out(3 * count, -1);
    const Window one(comm, memory, 4 * count);
    const Window two(comm, out, 3 * count);
    int* const input = memory.data() + own * 100;
    expect(ncclBroadcast(input, out.data() + own, 100, ncclInt, 1, comm, stream));
    stream.finish();
    expect_that(out.get()[own] == 1100, "broadcast");
    expect(ncclAllGather(input, out.data(), count, ncclInt, comm, stream));
    stream.finish();
    expect_that(out.get()[2 * count] == 2200, "all_gather");
    expect(ncclReduce(input, out.data() + own, 100, ncclInt, ncclSum, 0, comm, stream));
    stream.finish();
    if (rank == 0) expect_that(out.get()[0] == 3300, "reduce");
  });
}

/// What has used windows of other ranks, and does.
struct InWindows {
  int launches = fake_window_launches();
  int running = fake_in_windows();
};

TEST_CASE("an abort returns when no peer's kernel uses this rank's windows any more", "[fake]") {
  if (lacks_kernels()) return;
  TwoRanks<int> ranks(count);
  const InWindows before;
  expect(ranks.call(0));
  while (fake_in_windows() == before.running) std::this_thread::yield();
  expect(ncclCommAbort(ranks.comms[1]));  // rank 1 never comes; its memory may go
  CHECK(fake_in_windows() == before.running);
  ranks.streams[0]->finish();
  expect(ncclCommAbort(ranks.comms[0]));
}

/// Rank 0 makes calls that use rank 1's window. Rank 1 aborts after the first `before` ones, so a
/// call is refused in the end. All earlier calls have run when the abort returns. False: the
/// machine was so slow that the abort may have given up waiting for them.
bool calls_beside_an_abort(TwoRanks<int>& ranks, int before) {
  // Relaxed, all of them: they only tell threads to go on.
  std::atomic<int> made{0};
  std::atomic<bool> refused{false};
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  const auto has = [](const std::atomic<bool>& event) {
    return event.load(std::memory_order_relaxed);
  };
  // Not too many wait in the stream: each of them takes a slow machine a while.
  const auto await_turn = [&](int beside) {
    while (made.load(std::memory_order_relaxed) >= before && !has(begun)) std::this_thread::yield();
    while (beside >= 8 && !has(ended)) std::this_thread::yield();
  };
  InWindows left;
  const int running = left.running;
  std::thread calling([&] {
    for (int beside = 0; ranks.call(0) == ncclSuccess; beside += has(begun) ? 1 : 0) {
      made.fetch_add(1, std::memory_order_relaxed);
      std::this_thread::yield();
      await_turn(beside);
    }
    refused.store(true, std::memory_order_relaxed);
  });
  const auto begin = std::chrono::steady_clock::now();
  std::thread aborting([&] {
    while (made.load(std::memory_order_relaxed) < before && !has(refused))
      std::this_thread::yield();
    begun.store(true, std::memory_order_relaxed);
    ncclCommAbort(ranks.comms[1]);  // its memory may go
    left = InWindows();
    ended.store(true, std::memory_order_relaxed);
  });
  aborting.join();
  const bool in_time = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(4900);
  calling.join();
  ranks.streams[0]->finish();
  if (in_time) expect_that(left.running == running, "a kernel ran on after the abort");
  if (in_time)
    expect_that(fake_window_launches() == left.launches, "a kernel began after the abort");
  expect(ncclCommAbort(ranks.comms[0]));
  return in_time;
}

// The abort meets the calls at another place in each round.
TEST_CASE("after an abort beside a peer's calls none of them uses this rank's windows", "[fake]") {
  if (lacks_kernels()) return;
  int tries = 0;
  for (int in_time = 0; in_time < 8;) {
    REQUIRE(++tries < 40);
    TwoRanks<int> ranks(count);
    if (calls_beside_an_abort(ranks, in_time % 4)) ++in_time;
  }
}

/// False: the machine stood still so long that the abort may have thought that the replay was over.
bool abort_between_two_calls() {
  TwoRanks<int> ranks(count);
  const cuda::PinnedMemory words(4096);
  const std::atomic_ref passed(*reinterpret_cast<unsigned*>(words.data()));
  const std::atomic_ref opened(*(reinterpret_cast<unsigned*>(words.data()) + 1));
  const cuda::DevicePointer passed_at = words.device_address(words.data());
  const DeviceStream& stream = *ranks.streams[0];
  cuCtxSetCurrent(device_context(0));
  const CapturedGraph graph(stream, [&] {
    expect(ranks.call(0));
    expect_cuda(cuStreamWriteValue32_v2(stream, passed_at, 1, cuda::write_value_default));
    expect_cuda(
        cuStreamWaitValue32_v2(stream, passed_at + sizeof(unsigned), 1, cuda::wait_value_equal));
    expect(ranks.call(0));
  });
  graph.launch(stream);
  expect(ranks.call(1));
  // acquire: the stream is between the two calls.
  while (passed.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  InWindows left;
  const auto begin = std::chrono::steady_clock::now();
  std::thread aborting([&] {
    ncclCommAbort(ranks.comms[1]);  // its memory may go
    left = InWindows();
  });
  failure_of(ranks.comms[0]);
  opened.store(1, std::memory_order_release);
  stream.finish();
  const bool in_time = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(900);
  aborting.join();
  expect(ncclCommAbort(ranks.comms[0]));
  if (in_time) CHECK(left.running == 0);
  if (in_time) CHECK(fake_window_launches() == left.launches);
  return in_time;
}

TEST_CASE("an abort waits for the end of a peer's replay, even one between two calls", "[fake]") {
  if (lacks_kernels()) return;
  int tries = 0;
  while (!abort_between_two_calls()) REQUIRE(++tries < 20);
}

TEST_CASE("destroying a communicator waits for peers that use its windows, even a call ahead",
          "[fake]") {
  if (lacks_kernels()) return;
  TwoRanks<int> ranks(count);
  expect(ranks.call(0));
  expect(ranks.call(1));
  for (const auto& stream : ranks.streams) stream->finish();
  const InWindows before;
  expect(ranks.call(0));  // rank 1 never makes this call
  while (fake_window_launches() == before.launches) std::this_thread::yield();
  expect(ncclCommDestroy(ranks.comms[1]));
  CHECK(fake_in_windows() == before.running);
  ranks.streams[0]->finish();
  CHECK(failure_of(ranks.comms[0]) != ncclSuccess);
  expect(ncclCommAbort(ranks.comms[0]));
}

TEST_CASE("after a failure windows are given back within one timeout, however many there are",
          "[fake]") {
  if (lacks_kernels()) return;  // no call would use a window
  TwoRanks<int> ranks(count);
  for (int more = 0; more < 3; ++more) ranks.add_windows();
  cuCtxSetCurrent(device_context(0));
  StreamGate gate(*ranks.streams[0]);  // holds up rank 0 longer than anybody waits
  expect(ranks.call(0));
  expect(ncclCommRevoke(ranks.comms[1], NCCL_REVOKE_DEFAULT));
  const auto begin = std::chrono::steady_clock::now();
  for (const ncclWindow_t window : ranks.windows[1])
    ncclCommWindowDeregister(ranks.comms[1], window);
  std::thread aborting([&] { ncclCommAbort(ranks.comms[1]); });
  aborting.join();
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited.count() > 4.9);  // the timeout is 5 s; one for each window would be 25
  CHECK(waited.count() < 15);
  gate.open();
  ranks.streams[0]->finish();
  expect(ncclCommAbort(ranks.comms[0]));
}

TEST_CASE("windows that nobody gave back go with their communicator", "[fake]") {
  const bool abort = GENERATE(false, true);
  {
    const std::vector<ncclComm_t> comms = init_on({0, 1});
    on_all_ranks(2, [&](int rank) {
      cuCtxSetCurrent(device_context(rank));
      const auto at = static_cast<std::size_t>(rank);
      const DeviceBuffer<int> buffer(count, 1);
      ncclWindow_t window = nullptr;
      expect(ncclCommWindowRegister(comms[at], buffer.data(), count * sizeof(int), &window,
                                    NCCL_WIN_COLL_SYMMETRIC));
      sum_in_place(comms[at], buffer.data(), rank);
      expect(abort ? ncclCommAbort(comms[at]) : ncclCommDestroy(comms[at]));
    });
  }
  expect_blocks(0);
}

TEST_CASE("registering a window without its peers ends with an error text") {
  // Enough for making the communicators, too.
  const Setting setting("RONDO_BOOTSTRAP_TIMEOUT", "6");
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceBuffer<int> buffer(10, 1);
  ncclWindow_t window = nullptr;
  const ncclResult_t result =
      ncclCommWindowRegister(comms[0], buffer.data(), 40, &window, NCCL_WIN_COLL_SYMMETRIC);
  CHECK(result != ncclSuccess);
  CHECK(std::string(ncclGetLastError(nullptr)).find("rank 1") != std::string::npos);
  CHECK(window == nullptr);
  abort_all(comms);
}

}  // namespace
}  // namespace rondo::test
