// Windows that are used wrongly, that fail, or that end early.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rondo/rondo.h"
#include "rondo/window.h"
#include "tests/api/expected_error.h"
#include "tests/api/window_memory.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::BlockMemory;
using test::error_of;
using test::expect;
using test::expect_that;
using test::Reach;
using test::reaches;
using test::with_world;

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
      refuses([&] { window.bytes(-1); }, "rank -1 does not exist");
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

/// Six waits of a second each.
void wait_briefly(Communicator& world) {
  Window window(world, nullptr, 0);
  for (int i = 0; i < 6; ++i) {
    if (world.rank() == 0) {
      // A peer that computes: only a wait that lasts is silent. The test is right without it, too.
      std::this_thread::sleep_for(std::chrono::seconds(1));
      window.signal(1, i % 3);
    } else if (i % 2 == 0) {
      window.wait_signal(0, i % 3);
    } else {
      window.wait_any(std::vector<Signal>{{1, 0}, {0, i % 3}});  // the first one never comes
    }
  }
  window.close();
}

TEST_CASE("many short waits are no long one") {
  // All together are longer than the timeout, each is much shorter. All ways at the same time.
  std::vector<Communicator> all;
  for (const Reach& reach : reaches) {
    for (Communicator& rank : Communicator::from_threads(
             2, {.transport = reach.transport, .timeout = std::chrono::seconds(5)}))
      all.push_back(std::move(rank));
  }
  test::on_all_ranks(static_cast<int>(all.size()),
                     [&](int i) { wait_briefly(all[static_cast<std::size_t>(i)]); });
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
