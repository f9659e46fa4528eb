// Puts, signals and waits of the C API, on windows in host memory.
#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/nccl/members.h"
#include "tests/support/setting.h"

namespace rondo::test {
namespace {

constexpr unsigned no_flags = 0;

ncclWindow_t symmetric(ncclComm_t comm, std::vector<int>& values) {
  ncclWindow_t window = nullptr;
  expect(ncclCommWindowRegister(comm, values.data(), values.size() * sizeof(int), &window,
                                NCCL_WIN_COLL_SYMMETRIC));
  return window;
}

ncclResult_t put(const std::vector<int>& values, int peer, ncclWindow_t window, std::size_t offset,
                 int signal, ncclComm_t comm) {
  return ncclPutSignal(values.data(), values.size(), ncclInt32, peer, window, offset, signal, 0,
                       no_flags, comm, nullptr);
}

ncclResult_t wait_for(int peer, int count, int signal, ncclComm_t comm) {
  ncclWaitSignalDesc_t wanted{.opCnt = count, .peer = peer, .sigIdx = signal, .ctx = 0};
  return ncclWaitSignal(1, &wanted, comm, nullptr);
}

std::vector<int> values_of(int from, int to, std::size_t count) {
  std::vector<int> made(count);
  std::iota(made.begin(), made.end(), from * 1'000'000 + to * 10'000);
  return made;
}

TEST_CASE("an all-to-all by puts in a group") {
  const Setting transport("RONDO_TRANSPORT", GENERATE("local", "shm", "tcp"));
  constexpr int ranks = 3;
  for (const std::size_t count : {1UL, 1000UL, 70'000UL}) {
    with_members(ranks, [&](int rank, ncclComm_t comm) {
      std::vector<int> received(count * ranks, -1);
      const ncclWindow_t window = symmetric(comm, received);
      std::vector<std::vector<int>> sent;
      std::vector<ncclWaitSignalDesc_t> waits;
      for (int peer = 0; peer < ranks; ++peer) {
        sent.push_back(values_of(rank, peer, count));
        waits.push_back({.opCnt = 1, .peer = peer, .sigIdx = 0, .ctx = 0});
      }
      expect(ncclGroupStart());
      expect(ncclWaitSignal(ranks, waits.data(), comm, nullptr));  // the puts go first
      for (int peer = 0; peer < ranks; ++peer)
        expect(put(sent[static_cast<std::size_t>(peer)], peer, window,
                   static_cast<std::size_t>(rank) * count * sizeof(int), 0, comm));
      expect(ncclGroupEnd());
      for (int peer = 0; peer < ranks; ++peer) {
        const std::vector<int> wanted = values_of(peer, rank, count);
        expect_that(std::equal(wanted.begin(), wanted.end(),
                               received.begin() + static_cast<std::ptrdiff_t>(
                                                      static_cast<std::size_t>(peer) * count)),
                    "what rank " + std::to_string(peer) + " has put");
      }
      expect(ncclCommWindowDeregister(comm, window));
    });
  }
}

TEST_CASE("puts, signals and waits follow each other in two windows") {
  with_members(2, [](int rank, ncclComm_t comm) {
    std::vector<int> first(10, -1);
    std::vector<int> second(10, -1);
    const ncclWindow_t windows[]{symmetric(comm, first), symmetric(comm, second)};
    const int peer = 1 - rank;
    for (int round = 0; round < 100; ++round) {
      expect(put(values_of(rank, round, 10), peer, windows[round % 2], 0, 3, comm));
      expect(wait_for(peer, 1, 3, comm));
      expect_that((round % 2 == 0 ? first : second) == values_of(peer, round, 10), "a round");
      expect(ncclSignal(peer, 31, 7, no_flags, comm, nullptr));  // it may be written again
      ncclWaitSignalDesc_t read{.opCnt = 1, .peer = peer, .sigIdx = 31, .ctx = 7};
      expect(ncclWaitSignal(1, &read, comm, nullptr));
    }
    expect_sum(comm, 1, 2);  // collectives go on beside them
  });
}

TEST_CASE("one thread destroys all ranks of communicators with windows") {
  const Setting transport("RONDO_TRANSPORT", GENERATE("local", "shm", "tcp"));
  const std::vector<ncclComm_t> comms = init_all(2);
  std::vector<std::vector<int>> values(2, std::vector<int>(100, -1));
  ncclWindow_t windows[2];
  expect(ncclGroupStart());
  for (const std::size_t rank : {0UL, 1UL})
    expect(ncclCommWindowRegister(comms[rank], values[rank].data(), 400, &windows[rank],
                                  NCCL_WIN_COLL_SYMMETRIC));
  expect(ncclGroupEnd());
  expect(put(values_of(0, 1, 100), 1, windows[0], 0, 0, comms[0]));
  expect(wait_for(0, 1, 0, comms[1]));
  CHECK(values[1] == values_of(0, 1, 100));
  destroy(comms);
}

TEST_CASE("wrong arguments of one-sided calls are refused") {
  with_members(2, [](int rank, ncclComm_t comm) {
    const std::vector<int> sent(11);
    expect_error(put(sent, 0, nullptr, 0, 0, comm), ncclInvalidUsage, "has no window");
    expect_error(wait_for(0, 1, 0, comm), ncclInvalidUsage, "has no window");
    std::vector<int> values(10);
    const ncclWindow_t window = symmetric(comm, values);
    ncclWindow_t plain = nullptr;
    expect(ncclCommWindowRegister(comm, values.data(), 40, &plain, NCCL_WIN_DEFAULT));
    refused(put(sent, 0, plain, 0, 0, comm), "not symmetric");
    refused(put(sent, 0, nullptr, 0, 0, comm), "no such window");
    refused(put(sent, 0, window, 0, 0, comm), "44 bytes at offset 0");
    refused(put({1}, 0, window, 40, 0, comm),
            "stay in what the peer passed to ncclCommWindowRegister");
    refused(put(sent, 2, window, 0, 0, comm), "2");
    refused(put({1}, 0, window, 0, 32, comm), "no signal 32 in context 0");
    refused(ncclSignal(0, 0, 8, 0, comm, nullptr), "no signal 0 in context 8");
    refused(ncclSignal(0, 0, 0, 1, comm, nullptr), "flags is 1");
    refused(ncclSignal(-1, 0, 0, 0, comm, nullptr), "peer -1 is not a rank");
    refused(ncclPutSignal(nullptr, 1, ncclInt32, 0, window, 0, 0, 0, 0, comm, nullptr), "null");
    refused(ncclPutSignal(sent.data(), ~0UL, ncclInt32, 0, window, 0, 0, 0, 0, comm, nullptr),
            "count is");
    refused(wait_for(0, -1, 0, comm), "opCnt is -1");
    refused(ncclWaitSignal(-1, nullptr, comm, nullptr), "nDesc is -1");
    refused(ncclWaitSignal(1, nullptr, comm, nullptr), "signalDescs is null");
    expect(ncclWaitSignal(0, nullptr, comm, nullptr));
    expect(put({7}, 1 - rank, window, 36, 0, comm));  // nothing has broken
    expect(wait_for(1 - rank, 1, 0, comm));
    expect_that(values[9] == 7, "the put");
  });
}

TEST_CASE("an abort ends the wait for a signal on every rank") {
  const Setting transport("RONDO_TRANSPORT", GENERATE("local", "tcp"));
  const std::vector<ncclComm_t> comms = init_all(2);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    std::vector<int> values(10);
    symmetric(comm, values);
    if (rank == 0) {
      expect(wait_for(1, 1, 3, comm));  // it has registered, too
      expect(ncclCommAbort(comm));
    } else {
      expect(ncclSignal(0, 3, 0, no_flags, comm, nullptr));
      expect_that(wait_for(0, 1, 0, comm) != ncclSuccess, "the wait ends");
      expect(ncclCommAbort(comm));
    }
  });
}

TEST_CASE("communicators that do not block wait for signals in the background") {
  const std::vector<ncclComm_t> comms = init_without_blocking(2);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    std::vector<int> values(10, -1);
    ncclWindow_t window = nullptr;
    expect(ncclCommWindowRegister(comm, values.data(), 40, &window, NCCL_WIN_COLL_SYMMETRIC),
           ncclInProgress);
    expect(settled(comm));
    int sum = rank + 1;
    const std::vector<int> sent = values_of(rank, 0, 10);
    expect(ncclGroupStart());
    expect(wait_for(1 - rank, 1, 0, comm));
    expect(put(sent, 1 - rank, window, 0, 0, comm));
    expect(ncclAllReduce(&sum, &sum, 1, ncclInt32, ncclSum, comm, nullptr));
    expect(ncclSignal(1 - rank, 1, 0, no_flags, comm, nullptr));
    expect(wait_for(1 - rank, 1, 1, comm));
    expect(ncclGroupEnd(), ncclInProgress);
    expect(settled(comm));
    expect_that(values == values_of(1 - rank, 0, 10) && sum == 3, "all of the group");
    expect(wait_for(1 - rank, 0, 5, comm), ncclInProgress);
    expect(settled(comm));
  });
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
