// A complete call needs nothing more of this rank: peers get the rest while it blocks elsewhere.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

#include "rondo/rondo.h"
#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

// More than sockets buffer, so that a rank ends with bytes that the kernel has not taken yet. Where
// such a rank returned from its call, the others would never reach the barrier.
TEST_CASE("ranks may block outside rondo as soon as their own call is complete") {
  constexpr int ranks = 3;
  constexpr std::size_t count = std::size_t{2} << 20;
  for (const char* transport : {"tcp", "shm", "local"}) {
    std::barrier meeting(ranks);
    test::with_world(ranks, {.transport = transport}, [&](Communicator& world) {
      for (int call = 0; call < 12; ++call) {
        const int root = call % ranks;
        std::vector<float> data(count, world.rank() == root ? static_cast<float>(call) : -1.0F);
        world.broadcast(data.data(), data.data(), count, DataType::float32, root);
        meeting.arrive_and_wait();
        if (data.front() != static_cast<float>(call) || data.back() != data.front())
          throw std::runtime_error("wrong data");
      }
    });
  }
  SUCCEED("every rank came to every barrier");
}

// Both ends of a pair may connect at once. The end that is done closes both connections, and the
// other end may not have accepted the one that its last frame came by.
TEST_CASE("a rank that is done may close its connections while others still read") {
  for (const int ranks : {2, 4}) {
    test::with_world(ranks, {.transport = "tcp"}, [&](Communicator& world) {
      for (int round = 1; round <= 60; ++round) {
        int sum = 0;
        {
          Communicator once = world.dup();
          once.all_reduce(&round, &sum, 1, DataType::int32);
        }
        if (sum != round * ranks) throw std::runtime_error("wrong sum");
      }
    });
  }
  SUCCEED("nobody was taken for dead");
}

TEST_CASE("a rank that has done its part may leave before others have begun") {
  constexpr int ranks = 4;
  for (const char* transport : {"shm", "local"}) {
    test::with_world(ranks, {.transport = transport}, [&](Communicator& world) {
      for (int round = 0; round < 40; ++round) {
        int value = world.rank() == 0 ? round : -1;
        {
          Communicator once = world.dup();
          once.broadcast(&value, &value, 1, DataType::int32, 0);
        }
        if (value != round) throw std::runtime_error("wrong value");
      }
    });
  }
  SUCCEED("nobody was taken for dead");
}

TEST_CASE("a send is complete though other work still has bytes to send") {
  constexpr std::size_t count = std::size_t{8} << 20;
  test::with_world(2, {.transport = "tcp"}, [](Communicator& world) {
    std::vector<float> input(count, 1.0F);
    std::vector<float> output(count);
    int x = 1;
    int y = 2;
    if (world.rank() == 0) {
      Work work = world.reduce_async(input.data(), output.data(), count, DataType::float32,
                                     ReduceOperator::avg, 1);
      world.send(&x, 1, DataType::int32, 1);
      world.send(&y, 1, DataType::int32, 1);
      work.wait();
    } else {
      world.recv(&x, 1, DataType::int32, 0);
      world.recv(&y, 1, DataType::int32, 0);
      world.reduce(input.data(), output.data(), count, DataType::float32, ReduceOperator::avg, 1);
      if (output.back() != 1.0F || y != 2) throw std::runtime_error("wrong value");
    }
  });
  SUCCEED("both sends came to their end");
}

/// Every rank takes its buffer back the moment its call has thrown. A rank that still wrote into it
/// would be seen at the end, when all calls of all ranks have thrown. Rank `quits` aborts before its
/// call number `last`.
template <class T, class Make>
void check_nobody_writes_later(int ranks, std::size_t count, int quits, int last, Make&& make) {
  constexpr T mine = 777;
  std::vector<std::vector<T>> outputs(static_cast<std::size_t>(ranks));
  std::barrier meeting(ranks);
  test::with_world(ranks, {.transport = "local"}, [&](Communicator& world) {
    const std::vector<T> input(count, 1);
    std::vector<T>& output = outputs[static_cast<std::size_t>(world.rank())];
    output.assign(count, 0);
    try {
      for (int call = 0;; ++call) {
        if (call == last && world.rank() == quits) world.abort("enough");
        make(world, input.data(), output.data());
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::aborted) throw;
    }
    std::fill(output.begin(), output.end(), mine);
    meeting.arrive_and_wait();
  });
  for (const auto& output : outputs)
    CHECK(std::count(output.begin(), output.end(), mine) == static_cast<std::ptrdiff_t>(count));
}

TEST_CASE("nobody writes into a buffer whose call has failed") {
  constexpr std::size_t count = std::size_t{4} << 20;
  check_nobody_writes_later<float>(3, count, 0, 20,
                                   [](Communicator& world, const float* input, float* output) {
                                     world.all_reduce(input, output, count, DataType::float32);
                                   });
}

// The abort also comes while messages are begun, and none of those may go on.
TEST_CASE("nobody writes into the buffers of an all_to_all_v that has failed") {
  constexpr int ranks = 5;
  constexpr std::size_t count = std::size_t{1} << 16;
  const std::vector<std::size_t> blocks(ranks, count);
  for (int round = 0; round < 12; ++round) {
    check_nobody_writes_later<int>(ranks, ranks * count, round % ranks, 3,
                                   [&](Communicator& world, const int* input, int* output) {
                                     world.all_to_all_v(input, {blocks}, output, {blocks},
                                                        DataType::int32);
                                   });
  }
}

TEST_CASE("the work of an all_to_all_v tells that it is complete, or has failed") {
  std::barrier meeting(3);
  test::with_world(3, {}, [&](Communicator& world) {
    const std::vector<std::size_t> blocks(3, 20'000);
    const std::vector<int> input(60'000, world.rank());
    std::vector<int> output(60'000, -1);
    std::atomic<int> told{0};
    const auto begin = [&] {
      Work work = world.all_to_all_v_async(input.data(), {blocks}, output.data(), {blocks},
                                           DataType::int32);
      work.when_complete([&told] {
        told.fetch_add(1, std::memory_order_release);
        told.notify_all();
      });
      return work;
    };
    Work first = begin();
    while (!first.test()) std::this_thread::yield();
    told.wait(0, std::memory_order_acquire);
    if (output.front() != 0 || output.back() != 2) throw std::runtime_error("wrong blocks");
    if (world.rank() == 2) {
      meeting.arrive_and_wait();
      world.abort("enough");
      return;
    }
    Work never = begin();  // the last rank does not begin it
    meeting.arrive_and_wait();
    told.wait(1, std::memory_order_acquire);
    try {
      while (!never.test()) std::this_thread::yield();
      throw std::runtime_error("no error");
    } catch (const Error& error) {
      if (error.code() != ErrorCode::aborted) throw;
    }
  });
  SUCCEED("all were told");
}

TEST_CASE("when_complete() calls back once, when work is complete or has failed") {
  constexpr int ranks = 3;
  for (const char* transport : {"tcp", "shm", "local"}) {
    std::atomic<int> told{0};
    std::barrier meeting(ranks);
    test::with_world(ranks, {.transport = transport}, [&](Communicator& world) {
      std::vector<std::vector<float>> data(200, std::vector<float>(1000, 1.0F));
      for (std::vector<float>& buffer : data) {
        Work work =
            world.all_reduce_async(buffer.data(), buffer.data(), buffer.size(), DataType::float32);
        work.when_complete([&told] {  // no thread waits for the work: it completes by itself
          told.fetch_add(1, std::memory_order_release);
          told.notify_all();
        });
      }
      // Acquires what the progress threads stored before they told.
      for (int seen = told.load(std::memory_order_acquire); seen < 200 * ranks;
           seen = told.load(std::memory_order_acquire))
        told.wait(seen, std::memory_order_acquire);
      for (const std::vector<float>& buffer : data) {
        if (buffer.back() != static_cast<float>(ranks)) throw std::runtime_error("wrong sum");
      }
      int late = 0, value = 0;
      Work done = world.barrier_async();
      done.wait();
      done.when_complete([&late] { ++late; });
      test::expect(test::error_of([&] { done.when_complete({}); }), ErrorCode::invalid_argument,
                   "the notice is an empty function");
      Work never = world.recv_async(&value, 1, DataType::int32, (world.rank() + 1) % ranks);
      std::atomic<int> failed{0};
      never.when_complete([&failed] {
        failed.store(1, std::memory_order_release);
        failed.notify_all();
      });
      meeting.arrive_and_wait();  // nobody needs the communicator any more
      world.abort("enough");
      failed.wait(0, std::memory_order_acquire);
      if (late != 1) throw std::runtime_error("complete work did not tell at once");
    });
    REQUIRE(told.load(std::memory_order_relaxed) == 200 * ranks);
  }
}

}  // namespace
}  // namespace rondo
