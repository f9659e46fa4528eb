// Puts, signals and waits of the C API on windows in GPU memory, in the order of streams.
#include "tests/catch.h"
#include "tests/nccl/one_sided.h"

namespace rondo::test {
namespace {

/// What rank `rank` puts in a round, between bytes that nobody may touch.
Image image(std::size_t margin, std::size_t bytes, int rank, int round) {
  Image all(margin + bytes + margin, 0xaa);
  const Image middle = pattern(bytes, rank + 10 * round);
  std::ranges::copy(middle, all.begin() + static_cast<std::ptrdiff_t>(margin));
  return all;
}

/// All is in streams before the host waits for anything. A rank puts again when its peer has read.
void put_around(int rank, int ranks, ncclComm_t comm, std::size_t bytes, int rounds) {
  constexpr std::size_t margin = 17;
  const std::size_t whole = margin + bytes + margin;
  const int next = (rank + 1) % ranks;
  const int last = (rank + ranks - 1) % ranks;
  const DeviceStream stream;
  const Bytes memory(whole, 0xaa);
  std::vector<std::unique_ptr<Bytes>> sent;
  std::vector<std::unique_ptr<Bytes>> received;
  for (int round = 0; round < rounds; ++round) {
    sent.push_back(std::make_unique<Bytes>(pattern(bytes, rank + 10 * round)));
    received.push_back(std::make_unique<Bytes>(whole));
  }
  const Window window(comm, memory, whole);
  for (int round = 0; round < rounds; ++round) {
    const auto at = static_cast<std::size_t>(round);
    expect(put(sent[at]->data(), bytes, next, window, margin, 3, comm, stream));
    expect(wait_for(last, 1, 3, 0, comm, stream));
    cuda::copy(cuda::address_of(received[at]->data()), cuda::address_of(memory.data()), whole,
               stream);
    expect(give(last, 31, 7, comm, stream));
    expect(wait_for(next, 1, 31, 7, comm, stream));
  }
  stream.finish();
  for (int round = 0; round < rounds; ++round)
    expect_equal(received[static_cast<std::size_t>(round)]->get(),
                 image(margin, bytes, last, round), "round " + std::to_string(round));
}

TEST_CASE("a ring of puts: who waits for the signal reads the bytes, round after round") {
  const int ranks = GENERATE(2, 4);
  with_ranks(ranks, GENERATE(false, true), [&](int rank, ncclComm_t comm) {
    put_around(rank, ranks, comm, 1, 100);
    put_around(rank, ranks, comm, 5000, 100);
    put_around(rank, ranks, comm, (1 << 20) + 3, 8);
  });
}

TEST_CASE("the last of several signals that are awaited is the last put's") {
  with_ranks(2, false, [](int rank, ncclComm_t comm) {
    constexpr std::size_t bytes = 300'000;
    constexpr int puts = 5;
    const DeviceStream stream;
    const Bytes memory(bytes);
    const Bytes read(bytes);
    const Window window(comm, memory, bytes);
    if (rank == 0) {
      std::vector<std::unique_ptr<Bytes>> sent;
      for (int i = 0; i < puts; ++i) {
        sent.push_back(std::make_unique<Bytes>(pattern(bytes, i)));
        expect(put(sent.back()->data(), bytes, 1, window, 0, 0, comm, stream));
      }
      stream.finish();
    } else {
      expect(wait_for(0, 2, 0, 0, comm, stream));  // in parts
      expect(wait_for(0, puts - 2, 0, 0, comm, stream));
      cuda::copy(cuda::address_of(read.data()), cuda::address_of(memory.data()), bytes, stream);
      stream.finish();
      expect_equal(read.get(), pattern(bytes, puts - 1), "the last put");
    }
    expect_sum(comm, 1, 2);  // the memory may go
  });
}

TEST_CASE("every signal of every context is counted by itself") {
  constexpr int ranks = 3;
  with_ranks(ranks, false, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    std::vector<ncclWaitSignalDesc_t> all;
    for (int context = 0; context < 8; ++context) {
      for (int signal = 0; signal < 32; ++signal) {
        for (int peer = 0; peer < ranks; ++peer) {
          const int count = (signal + context) % 3 == 0 ? 2 : 0;
          for (int i = 0; i < count; ++i) expect(give(peer, signal, context, comm, stream));
          all.push_back({.opCnt = count, .peer = peer, .sigIdx = signal, .ctx = context});
        }
      }
    }
    expect(ncclWaitSignal(static_cast<int>(all.size()), all.data(), comm, stream));
    expect(ncclWaitSignal(0, nullptr, comm, stream));
    stream.finish();
    expect(give((rank + 1) % ranks, 1, 0, comm, stream));  // none was left over
    const DeviceStream other;                              // which follows the first one
    expect(wait_for((rank + 2) % ranks, 1, 1, 0, comm, other));
    other.finish();
  });
}

/// In a group, with the waits first. Returns when it is complete.
void exchange(const std::vector<ncclComm_t>& comms, const std::vector<const Bytes*>& sent,
              const std::vector<ncclWindow_t>& windows, std::size_t bytes, int ranks, int first) {
  const DeviceStream stream;
  const DeviceBuffer<int> sum(1, 1);
  expect(ncclGroupStart());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    std::vector<ncclWaitSignalDesc_t> waits;
    for (int peer = 0; peer < ranks; ++peer)
      waits.push_back({.opCnt = 1, .peer = peer, .sigIdx = 0, .ctx = 0});
    expect(ncclWaitSignal(ranks, waits.data(), comms[i], stream));
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t to = static_cast<std::size_t>(first) + i;
      expect(put(sent[i]->data() + static_cast<std::size_t>(peer) * bytes, bytes, peer, windows[i],
                 to * bytes, 0, comms[i], stream));
    }
    if (comms.size() == 1) expect(all_reduce(sum, 1, comms[i], stream));
  }
  expect(ncclGroupEnd());
  stream.finish();
  if (comms.size() == 1) expect_that(sum.get()[0] == ranks, "the sum of the group");
}

Image sent_by(int rank, int ranks, std::size_t bytes) {
  return blocks(ranks, [&](int peer) { return pattern(bytes, 10 * rank + peer); });
}
Image received_by(int rank, int ranks, std::size_t bytes) {
  return blocks(ranks, [&](int peer) { return pattern(bytes, 10 * peer + rank); });
}

TEST_CASE("an all-to-all by puts in a group, beside a collective") {
  const int ranks = GENERATE(2, 4);
  constexpr std::size_t bytes = 70'001;
  with_ranks(ranks, false, [&](int rank, ncclComm_t comm) {
    const Bytes sent(sent_by(rank, ranks, bytes));
    const Bytes memory(bytes * static_cast<std::size_t>(ranks));
    const Window window(comm, memory, bytes * static_cast<std::size_t>(ranks));
    for (int round = 0; round < 3; ++round) exchange({comm}, {&sent}, {window}, bytes, ranks, rank);
    expect_equal(memory.get(), received_by(rank, ranks, bytes), "all-to-all");
  });
}

TEST_CASE("one thread puts for all ranks in a group, in one stream") {
  constexpr int ranks = 3;
  constexpr std::size_t bytes = 5000;
  const std::vector<ncclComm_t> comms = init_on_device(ranks);
  std::vector<std::unique_ptr<Bytes>> sent;
  std::vector<std::unique_ptr<Bytes>> memories;
  std::vector<const Bytes*> all_sent;
  std::vector<ncclWindow_t> windows(ranks);
  expect(ncclGroupStart());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sent.push_back(std::make_unique<Bytes>(sent_by(static_cast<int>(rank), ranks, bytes)));
    all_sent.push_back(sent.back().get());
    memories.push_back(std::make_unique<Bytes>(bytes * ranks));
    expect(ncclCommWindowRegister(comms[rank], memories[rank]->data(), bytes * ranks,
                                  &windows[rank], NCCL_WIN_COLL_SYMMETRIC));
  }
  expect(ncclGroupEnd());
  exchange(comms, all_sent, windows, bytes, ranks, 0);
  for (int rank = 0; rank < ranks; ++rank)
    expect_equal(memories[static_cast<std::size_t>(rank)]->get(), received_by(rank, ranks, bytes),
                 "all-to-all");
  destroy(comms);
}

TEST_CASE("communicators that do not block put their waits into streams, too") {
  const EachForItself apart;
  cuCtxSetCurrent(device_context(0));
  run_on_device(init_without_blocking(2), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    for (int round = 0; round < 10; ++round) {
      expect(wait_for(1 - rank, 0, 0, 0, comm, stream));
      expect(give(1 - rank, 0, 0, comm, stream));
      expect(wait_for(1 - rank, 1, 0, 0, comm, stream));
    }
    stream.finish();
  });
}

}  // namespace
}  // namespace rondo::test
