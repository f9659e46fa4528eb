// One-sided calls: every byte is where it belongs, signals order them, and nothing waits for ever.
#include "rondo/window.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/setting.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::expect_that;
using test::with_world;

/// A block of a window: in memory that peers can map, or not.
class BlockMemory {
 public:
  BlockMemory(std::size_t bytes, bool shared)
      : shared_(shared ? allocate(bytes) : Memory()), own_(shared ? 0 : bytes) {}
  std::byte* data() { return shared_ ? static_cast<std::byte*>(shared_.data()) : own_.data(); }

 private:
  Memory shared_;
  std::vector<std::byte> own_;
};

/// How the ranks reach each other's blocks.
struct Reach {
  const char* transport;
  bool shared;
};
const Reach reaches[] = {{"local", false}, {"shm", true}, {"shm", false}, {"tcp", false}};

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

/// Around the longest request (4096 bytes with its 24), the longest frame, and many frames.
const std::size_t lengths[] = {0, 1, 24, 4071, 4072, 4073, 65536, 65537, 1'000'003};

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

// ---- wrong use, and failures

TEST_CASE("a place outside a block, and a number that does not exist, are refused") {
  for (const Reach& reach : reaches) {
    with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
      BlockMemory memory(100, reach.shared);
      Window window(world, memory.data(), 100);
      std::vector<std::byte> values(101);
      const auto refuses = [](auto call, const std::string& part) {
        expect(error_of(call), ErrorCode::invalid_argument, part);
      };
      refuses([&] { window.put(values, 1); },
              "101 bytes at offset 0 are not in the window's block");
      refuses([&] { window.get(values, 1); }, "which has 100 bytes on rank 1");
      refuses([&] { window.put(values.data(), 1, 0, 100); }, "offset 100");
      refuses([&] { window.put(values.data(), 2, 0, ~std::size_t{0}); }, "not in the window's");
      refuses([&] { window.put(nullptr, 1, 0, 0); }, "the buffer is null");
      refuses([&] { window.get(nullptr, 1, 0, 0); }, "the buffer is null");
      refuses([&] { window.put(values.data(), 1, 2, 0); }, "rank 2 does not exist among 2 ranks");
      refuses([&] { window.signal(-1); }, "rank -1 does not exist");
      refuses([&] { window.signal(1, 256); }, "signal 256 does not exist");
      refuses([&] { window.wait_signal(1, -1); }, "signal -1 does not exist");
      refuses([&] { window.wait_any({}); }, "at least one");
      refuses([&] { window.wait_any(std::vector<Signal>{{0, 0}, {2, 0}}); }, "rank 2 does not");
      refuses([&] { window.put_signal(values.data(), 1, 1, 0, -1); }, "signal -1 does not exist");
      window.put(values.data(), 100, 1 - world.rank(), 0);  // nothing has broken
      window.close();
      expect(error_of([&] { window.put(values.data(), 1, 1, 0); }), ErrorCode::invalid_usage,
             "this window was closed");
    });
  }
  Communicator none;
  expect(error_of([&] { Window(none, nullptr, 0); }), ErrorCode::invalid_usage, "handle is empty");
  expect(error_of([] { Window().flush(); }), ErrorCode::invalid_usage, "Window handle is empty");
}

TEST_CASE("a signal that never comes ends the wait, with the peer's number") {
  for (const Reach& reach : reaches) {
    std::vector<Communicator> ranks = Communicator::from_threads(
        2, {.transport = reach.transport, .timeout = std::chrono::milliseconds(300)});
    test::on_all_ranks(2, [&](int rank) {
      Window window(ranks[static_cast<std::size_t>(rank)], nullptr, 0);
      const Error error = error_of([&] { window.wait_signal(1 - rank, 3); });
      expect(error, ErrorCode::timeout, "wait_signal 3");
      const std::string words = error.what();
      expect_that(words.find("rank 0") != words.npos || words.find("rank 1") != words.npos, words);
    });
  }
}

TEST_CASE("a window that an exception destroys ends the peers' calls") {
  for (const Reach& reach : reaches) {
    with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
      std::vector<int> values(10);
      if (world.rank() == 0) {
        try {
          const Window window(world, values.data(), values.size() * sizeof(int));
          world.barrier();  // all ranks have made theirs
          throw std::runtime_error("on purpose");
        } catch (const std::runtime_error&) {
          // The window has gone.
        }
      } else {
        Window window(world, values.data(), values.size() * sizeof(int));
        world.barrier();
        expect(error_of([&] { window.wait_signal(0); }), ErrorCode::aborted, "window");
      }
    });
  }
}

TEST_CASE("abort of the communicator ends the waits of its windows on every rank") {
  for (const Reach& reach : reaches) {
    with_world(3, {.transport = reach.transport}, [&](Communicator& world) {
      Window window(world, nullptr, 0);
      const Error error = error_of([&] {
        world.barrier();  // all ranks have made theirs
        if (world.rank() == 2) world.abort("on purpose");
        window.wait_signal((world.rank() + 1) % 3);
      });
      expect(error, ErrorCode::aborted, "on purpose");
    });
  }
}

TEST_CASE("many short waits are no long one") {
  for (const Reach& reach : reaches) {
    std::vector<Communicator> ranks = Communicator::from_threads(
        2, {.transport = reach.transport, .timeout = std::chrono::milliseconds(1200)});
    test::on_all_ranks(2, [&](int rank) {
      Window window(ranks[static_cast<std::size_t>(rank)], nullptr, 0);
      // Each wait is shorter than the timeout, all of them together are longer.
      for (int i = 0; i < 6; ++i) {
        if (rank == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          window.signal(1, i % 3);
        } else if (i % 2 == 0) {
          window.wait_signal(0, i % 3);
        } else {
          window.wait_any(std::vector<Signal>{{1, 0}, {0, i % 3}});  // the first one never comes
        }
      }
      window.close();
    });
  }
}

TEST_CASE(
    "a window waits for its gets when it closes, and ends those of a window that is dropped") {
  for (const Reach& reach : reaches) {
    for (const bool closes : {true, false}) {
      with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
        BlockMemory memory(1'000'000, reach.shared);
        std::vector<std::byte> back(1'000'000);
        std::vector<Work> works;
        try {
          Window window(world, memory.data(), back.size());
          for (int i = 0; i < 20; ++i)
            works.push_back(window.get_async(back.data(), back.size(), 1 - world.rank(), 0));
          if (!closes) throw std::runtime_error("on purpose");
          window.close();
          for (Work& work : works) expect_that(work.test(), "the get is complete");
        } catch (const std::exception&) {
          if (closes) throw;
          for (Work& work : works) {
            try {
              work.wait();
            } catch (const Error&) {
              // All that counts is that it ends.
            }
          }
        }
      });
    }
  }
}

TEST_CASE("an abort by another thread in the middle of calls ends them with an error") {
  for (const Reach& reach : reaches) {
    for (int round = 0; round < 20; ++round) {
      with_world(2, {.transport = reach.transport}, [&](Communicator& world) {
        BlockMemory memory(10'000, reach.shared);
        Window window(world, memory.data(), 10'000);
        world.barrier();
        std::thread aborts([&] {
          for (int i = 0; i < 2 * round; ++i) std::this_thread::yield();
          if (world.rank() == 0) window.abort("on purpose");
        });
        const std::vector<std::byte> sent(10'000);
        std::vector<std::byte> back(10'000);
        expect(error_of([&] {
                 for (;;) {
                   window.put_signal(sent, 1 - world.rank());
                   window.put_signal(std::vector<std::byte>(10), 1 - world.rank());
                   window.get(back, 1 - world.rank());
                 }
               }),
               ErrorCode::aborted, "on purpose");
        aborts.join();
      });
    }
  }
}

TEST_CASE("a null block is refused before anything is sent") {
  with_world(2, {.transport = "tcp"}, [](Communicator& world) {
    expect(error_of([&] { Window(world, nullptr, 1); }), ErrorCode::invalid_argument, "is null");
    world.barrier();
  });
}

}  // namespace
}  // namespace rondo
