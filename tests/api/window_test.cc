// One-sided calls: every byte is where it belongs, and signals order them.
#include "rondo/window.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "tests/api/window_memory.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/setting.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::BlockMemory;
using test::expect_that;
using test::Reach;
using test::reaches;
using test::with_world;

/// What rank `from` writes to rank `to`, in a round.
std::vector<std::byte> pattern(int from, int to, int round, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  auto state = static_cast<std::uint32_t>(from * 7919 + to * 104729 + round * 1299709 + 1);
  for (std::byte& byte : made) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return made;
}

void expect_same(const std::byte* got, const std::vector<std::byte>& wanted,
                 const std::string& where) {
  expect_that(std::memcmp(got, wanted.data(), wanted.size()) == 0, where);
}

std::string words(const Reach& reach, int from, int to, std::size_t bytes) {
  return std::string(reach.transport) + (reach.shared ? ", shared memory: " : ": ") +
         std::to_string(bytes) + " bytes from rank " + std::to_string(from) + " to rank " +
         std::to_string(to);
}

/// Around the longest request with its 24 bytes (a frame of 32 KiB, or 36 KiB where frames are
/// longer), the longest frame, and many frames.
const std::size_t lengths[] = {0,     1,     24,    32743, 32744,    32745,
                               36839, 36840, 36841, 65537, 1'000'003};

TEST_CASE("what every rank puts is in the peers' blocks after a fence, and comes back by get") {
  for (const Reach& reach : reaches) {
    for (const int ranks : test::cells<int>({1, 2, 3, 5}, {3})) {
      with_world(ranks, {.transport = reach.transport}, [&](Communicator& world) {
        const int rank = world.rank();
        const std::size_t most = std::end(lengths)[-1];
        BlockMemory memory(most * static_cast<std::size_t>(ranks), reach.shared);
        Window window(world, memory.data(), most * static_cast<std::size_t>(ranks));
        int round = 0;
        for (const std::size_t bytes : lengths) {
          ++round;
          for (int peer = 0; peer < ranks; ++peer)
            window.put(pattern(rank, peer, round, bytes), peer,
                       static_cast<std::size_t>(rank) * most);
          window.fence();
          for (int peer = 0; peer < ranks; ++peer) {
            const std::size_t place = static_cast<std::size_t>(peer) * most;
            expect_same(memory.data() + place, pattern(peer, rank, round, bytes),
                        words(reach, peer, rank, bytes));
            // What this rank put there itself.
            std::vector<std::byte> back(bytes);
            window.get(back, peer, static_cast<std::size_t>(rank) * most);
            expect_same(back.data(), pattern(rank, peer, round, bytes),
                        "back, " + words(reach, rank, peer, bytes));
          }
          window.fence();  // nobody overwrites what another rank still looks at
        }
        window.close();
      });
    }
  }
}

TEST_CASE("a signal says that all puts before it have arrived") {
  constexpr int rounds = 40;
  for (const Reach& reach : reaches) {
    with_world(3, {.transport = reach.transport}, [&](Communicator& world) {
      const int next = (world.rank() + 1) % 3;
      const int previous = (world.rank() + 2) % 3;
      constexpr std::size_t most = 100'000;
      BlockMemory memory(2 * most, reach.shared);
      Window window(world, memory.data(), 2 * most);
      for (int round = 0; round < rounds; ++round) {
        const std::size_t bytes = round % 3 == 0 ? most : static_cast<std::size_t>(round) * 7;
        // Two places in turn: the next rank has read the one of two rounds ago.
        const std::size_t place = round % 2 == 0 ? 0 : most;
        if (round >= 2) window.wait_signal(next, 1);
        const std::vector<std::byte> sent = pattern(world.rank(), next, round, bytes);
        if (round % 4 < 2) {
          window.put(sent, next, place);
          window.signal(next);
        } else {
          window.put_signal(sent, next, place);
        }
        window.wait_signal(previous);
        expect_same(
            memory.data() + place, pattern(previous, world.rank(), round, bytes),
            "round " + std::to_string(round) + ", " + words(reach, previous, world.rank(), bytes));
        window.signal(previous, 1);
      }
      window.close();
    });
  }
}

TEST_CASE("signals are counted by peer and number, and taken once") {
  for (const Reach& reach : reaches) {
    with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
      Window window(world, nullptr, 0);
      const int peer = 1 - world.rank();
      for (int i = 0; i < 3; ++i) window.signal(peer, 63);
      window.signal(peer, 5);
      window.signal(world.rank(), 63);
      window.wait_signal(peer, 5);
      expect_that(window.wait_any(std::vector<Signal>{{peer, 7}, {world.rank(), 63}}) == 1, "any");
      window.signal(world.rank(), 63);
      expect_that(window.test_signal(peer, 63, 2), "two of three have come");
      expect_that(!window.test_signal(peer, 63, 2), "one is left");
      expect_that(window.test_signal(peer, 63), "it is the last one");
      expect_that(!window.test_signal(peer, 63) && !window.test_signal(peer, 5), "none is left");
      expect_that(window.test_signal(world.rank(), 63), "a rank signals itself");
      window.close();
    });
  }
}

TEST_CASE("a peer that makes no call is written to and read") {
  for (const Reach& reach : reaches) {
    with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
      std::vector<int> values(50'000, world.rank());
      Memory memory = allocate(reach.shared ? values.size() * sizeof(int) : 1);
      int* const block = reach.shared ? static_cast<int*>(memory.data()) : values.data();
      std::fill_n(block, values.size(), world.rank());
      Window window(world, block, values.size() * sizeof(int));
      std::vector<int> seen(values.size());
      if (world.rank() == 0) {
        window.put(std::vector<int>(10, 7), 1, 100);
        window.get(seen, 1);
        expect_that(seen[99] == 1 && seen[100] == 7 && seen[109] == 7 && seen[110] == 1,
                    "what was put before is what the get finds");
        world.send(seen.data(), 1, DataType::int32, 1);
      } else {
        // In a call of the communicator, which does nothing for the window.
        world.recv(seen.data(), 1, DataType::int32, 0);
      }
      window.close();
    });
  }
}

TEST_CASE("asynchronous puts and gets are complete when their work is") {
  for (const Reach& reach : reaches) {
    with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
      constexpr std::size_t count = 300'000;
      constexpr int parts = 100;  // more than requests may wait for a peer
      BlockMemory memory(count, reach.shared);
      Window window(world, memory.data(), count);
      const int peer = 1 - world.rank();
      const std::vector<std::byte> sent = pattern(world.rank(), peer, 0, count);
      std::vector<Work> works;
      for (std::size_t i = 0; i < parts; ++i)
        works.push_back(window.put_async(sent.data() + i * 3000, 3000, peer, i * 3000));
      works.push_back(window.put_async(sent.data(), count, peer, 0));
      for (Work& work : works) work.wait();
      window.fence();
      expect_same(memory.data(), pattern(peer, world.rank(), 0, count), "put");
      std::vector<std::byte> back(count);
      works.clear();
      for (std::size_t i = 0; i < parts; ++i)
        works.push_back(window.get_async(back.data() + i * 3000, 3000, peer, i * 3000));
      for (Work& work : works) work.wait();
      expect_same(back.data(), sent, "get");
      window.close();
    });
  }
}

TEST_CASE("blocks differ in size, and a communicator has several windows") {
  with_world(3, {.transport = "tcp"}, [](Communicator& world) {
    std::vector<int> small(static_cast<std::size_t>(world.rank()), -1);
    std::vector<int> large(1000, -1);
    Window first(world, small.data(), small.size() * sizeof(int));
    Window second(world, large.data(), large.size() * sizeof(int));
    for (int peer = 0; peer < 3; ++peer)
      expect_that(first.bytes(peer) == static_cast<std::size_t>(peer) * sizeof(int), "the size");
    if (world.rank() == 0) {
      first.put(std::vector<int>{5}, 2, 1);
      second.put(std::vector<int>{6}, 2, 1);
    }
    second.close();
    first.close();
    expect_that(world.rank() != 2 || (small[1] == 5 && large[1] == 6), "both have their own");
  });
}

TEST_CASE("requests fit into the smallest slots") {
  const test::Setting slots("RONDO_SLOT_BYTES", "1");
  for (const char* const transport : {"shm", "tcp"}) {
    with_world(2, {.transport = transport}, [](Communicator& world) {
      std::vector<std::byte> block(5000);
      Window window(world, block.data(), block.size());
      const int peer = 1 - world.rank();
      for (const std::size_t bytes : {40UL, 41UL, 5000UL}) {
        window.put_signal(pattern(world.rank(), peer, 0, bytes), peer);
        window.wait_signal(peer);
        expect_same(block.data(), pattern(peer, world.rank(), 0, bytes), std::to_string(bytes));
        window.fence();
      }
      window.close();
    });
  }
}

TEST_CASE("the window of a communicator with checksums can be read while it is written") {
  with_world(2, {.transport = "tcp", .checksum = true}, [](Communicator& world) {
    std::vector<int> values(100'000, world.rank());
    Window window(world, values.data(), values.size() * sizeof(int));
    std::vector<int> seen(values.size());
    for (int round = 0; round < 5; ++round) {
      window.put(std::vector<int>(values.size(), round), 1 - world.rank());
      window.get(seen, 1 - world.rank());
    }
    expect_that(seen[7] == 4, "this rank's own put comes before its get");
    window.close();
  });
}

}  // namespace
}  // namespace rondo
