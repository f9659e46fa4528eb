// One-sided calls on GPU memory that are wrong or impossible, or whose peers abort or stay away.
#include <atomic>
#include <climits>
#include <thread>

#include "tests/catch.h"
#include "tests/nccl/one_sided.h"

namespace rondo::test {
namespace {

TEST_CASE("wrong arguments of one-sided calls on GPU memory are refused, and nothing breaks") {
  with_ranks(2, false, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes memory(100);
    const Bytes sent(pattern(101, rank));
    const Bytes other_memory(100);
    std::vector<unsigned char> host(100);
    const Window window(comm, memory, 100);
    ncclWindow_t plain = nullptr;
    expect(ncclCommWindowRegister(comm, memory.data(), 100, &plain, NCCL_WIN_DEFAULT));
    refused(put(sent.data(), 1, 0, plain, 0, 0, comm, stream), "not symmetric");
    refused(put(sent.data(), 1, 0, nullptr, 0, 0, comm, stream), "no such window");
    refused(put(sent.data(), 101, 0, window, 0, 0, comm, stream), "101 bytes at offset 0");
    refused(put(sent.data(), 1, 0, window, 100, 0, comm, stream), "1 bytes at offset 100");
    refused(put(sent.data(), 2, 0, window, ~0UL, 0, comm, stream), "2 bytes at offset");
    refused(put(sent.data(), 1000, 0, window, 0, 0, comm, stream), "the last of its 1000 bytes");
    refused(put(host.data(), 1, 0, window, 0, 0, comm, stream), "buffer is in the host's memory");
    refused(put(nullptr, 1, 0, window, 0, 0, comm, stream), "buffer is null");
    refused(put(sent.data(), 1, 2, window, 0, 0, comm, stream), "peer 2 is not a rank");
    refused(put(sent.data(), 1, 0, window, 0, 32, comm, stream), "no signal 32 in context 0");
    refused(give(-1, 0, 0, comm, stream), "peer -1 is not a rank");
    refused(give(0, -1, 0, comm, stream), "no signal -1 in context 0");
    refused(give(0, 0, 8, comm, stream), "no signal 0 in context 8");
    refused(ncclSignal(0, 0, 0, 1, comm, stream), "flags is 1");
    refused(wait_for(2, 1, 0, 0, comm, stream), "peer 2 is not a rank");
    refused(wait_for(0, -1, 0, 0, comm, stream), "opCnt is -1");
    refused(ncclWaitSignal(1, nullptr, comm, stream), "signalDescs is null");
    {
      const Window second(comm, other_memory, 100);
      const ncclComm_t others = [&] {
        ncclComm_t made = nullptr;
        expect(ncclCommSplit(comm, 0, rank, &made, nullptr));
        return made;
      }();
      refused(put(sent.data(), 1, 0, second, 0, 0, others, stream), "no such window");
      expect(ncclCommDestroy(others));
    }
    expect(put(sent.data(), 1, 1 - rank, window, 99, 0, comm, stream));
    expect(wait_for(1 - rank, 1, 0, 0, comm, stream));
    stream.finish();
    expect_that(memory.get().back() == pattern(1, 1 - rank)[0], "the put");
  });
}

TEST_CASE("a capture of one-sided calls is refused, and they work beside it") {
  with_ranks(2, false, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes memory(100);
    const Window window(comm, memory, 100);
    const CapturedGraph graph(stream, [&] {
      for (const ncclResult_t result :
           {put(memory.data(), 1, 1 - rank, window, 0, 0, comm, stream),
            give(1 - rank, 0, 0, comm, stream), wait_for(1 - rank, 1, 0, 0, comm, stream)})
        expect_error(result, ncclInvalidUsage, "cannot be captured into a graph");
    });
    graph.launch(stream);
    expect(give(1 - rank, 0, 0, comm, stream));
    expect(wait_for(1 - rank, 1, 0, 0, comm, stream));
    stream.finish();
  });
}

TEST_CASE("puts into a window that peers cannot reach are refused on every rank") {
  with_ranks(2, false, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes memory(100);
    std::vector<unsigned char> host(100);
    void* const mine = rank == 0 ? static_cast<void*>(host.data()) : memory.data();
    const Window window(comm, mine, 100);
    refused(put(memory.data(), 1, 1 - rank, window, 0, 0, comm, stream),
            "peers cannot reach the memory of this window");
  });
}

TEST_CASE(
    "where GPU buffers go through the host there are no one-sided calls, and an error says so") {
  const int ranks = GENERATE(1, 2);
  run_on_device(init_through_host(ranks), [&](int rank, ncclComm_t comm) {
    const int peer = (rank + 1) % ranks;
    const DeviceStream stream;
    const Bytes memory(100);
    expect_error(give(peer, 0, 0, comm, stream), ncclInvalidUsage, "has no window");
    const Window window(comm, memory, 100);
    const std::string why = "rank 0 has a GPU driver, and GPU buffers go through the host's memory";
    for (const ncclResult_t result :
         {put(memory.data(), 1, peer, window, 0, 0, comm, stream), give(peer, 0, 0, comm, stream),
          wait_for(peer, 1, 0, 0, comm, stream)})
      refused(result, why);
  });
}

TEST_CASE("an abort ends waits for signals in every stream") {
  const bool revoked = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  for (int i = 0; i < 3; ++i) expect(wait_for(1, 2, i, 0, comms[0], stream));
  expect(give(0, 0, 0, comms[1], stream));  // behind the wait, in its own stream's order
  expect(revoked ? ncclCommRevoke(comms[1], NCCL_REVOKE_DEFAULT) : ncclCommAbort(comms[1]));
  stream.finish();
  expect(failure_of(comms[0]), ncclRemoteError);
  expect_error(give(1, 0, 0, comms[0], stream), ncclRemoteError, "");
  expect(ncclCommAbort(comms[0]));
  if (revoked) expect(ncclCommAbort(comms[1]));
  expect_blocks(0);
}

TEST_CASE("a peer that has destroyed its communicator ends the wait for its signal") {
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  expect(give(0, 0, 0, comms[1], stream));
  expect(ncclCommDestroy(comms[1]));
  expect(wait_for(1, 1, 0, 0, comms[0], stream));
  stream.finish();  // that one was given
  expect(wait_for(1, 1, 0, 0, comms[0], stream));
  stream.finish();
  expect(failure_of(comms[0]), ncclInvalidUsage);
  expect_last_error(comms[0], "has left the communicator");
  expect(ncclCommAbort(comms[0]));
}

TEST_CASE("a signal that nobody gives ends the wait when the timeout is over, also the own one") {
  const int peer = GENERATE(0, 1);
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  expect(rondoCommSetTimeout(comms[0], 600));
  expect(give(0, 5, 0, comms[static_cast<std::size_t>(peer)], stream));
  expect(wait_for(peer, 2, 5, 0, comms[0], stream));
  stream.finish();
  expect(failure_of(comms[0]), ncclRemoteError);
  expect_last_error(comms[0], "wait_signal 5");
  abort_all(comms);
}

TEST_CASE("of several peers the one that gives no signal is named") {
  const std::vector<ncclComm_t> comms = init_on_device(3);
  const DeviceStream stream;
  const int silent = GENERATE(1, 2);
  const int other = 3 - silent;
  expect(rondoCommSetTimeout(comms[0], 600));
  expect(give(0, 5, 0, comms[static_cast<std::size_t>(other)], stream));
  expect(give(0, 6, 0, comms[static_cast<std::size_t>(silent)], stream));
  std::vector<ncclWaitSignalDesc_t> waits;
  for (const int signal : {6, 5}) {
    for (const int peer : {1, 2}) {
      if (peer != other || signal == 5)
        waits.push_back({.opCnt = 1, .peer = peer, .sigIdx = signal, .ctx = 0});
    }
  }
  expect(ncclWaitSignal(3, waits.data(), comms[0], stream));
  stream.finish();
  expect(failure_of(comms[0]), ncclRemoteError);
  expect_last_error(comms[0], "peer rank " + std::to_string(silent));
  abort_all(comms);
}

TEST_CASE("more signals than counters tell apart are refused") {
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  expect(wait_for(1, INT_MAX, 0, 0, comms[0], stream));
  refused(wait_for(1, 1, 0, 0, comms[0], stream), "2^31 signals 0");
  stream.finish();
  abort_all(comms);
}

// The abort meets the puts at another place in each round.
TEST_CASE("after an abort beside a peer's puts none of them writes this rank's window", "[fake]") {
  constexpr std::size_t bytes = 50'000;
  for (int round = 0; round < 8; ++round) {
    const TwoRanks<unsigned char> ranks(bytes);
    const std::vector<ncclComm_t>& comms = ranks.comms;
    const ncclWindow_t window = ranks.windows[0].front();
    const DeviceStream stream;
    std::atomic<int> made{0};  // relaxed: only a count
    std::size_t copied = 0;
    std::thread putting([&] {
      cuCtxSetCurrent(device_context(0));
      while (put(ranks.memory[0]->data(), bytes, 1, window, 0, 0, comms[0], stream) == ncclSuccess)
        made.fetch_add(1, std::memory_order_relaxed);
    });
    std::thread aborting([&] {
      while (made.load(std::memory_order_relaxed) < round % 4) std::this_thread::yield();
      ncclCommAbort(comms[1]);  // its memory may go
      copied = fake_copied_bytes();
    });
    putting.join();
    aborting.join();
    stream.finish();
    CHECK(fake_copied_bytes() == copied);
    expect(ncclCommAbort(comms[0]));
  }
}

}  // namespace
}  // namespace rondo::test
