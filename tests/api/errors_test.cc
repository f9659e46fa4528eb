// Errors a user can make or meet: each is typed, names what matters, and nothing hangs.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::with_world;
using namespace std::chrono_literals;

constexpr auto f32 = DataType::float32;

TEST_CASE("arguments are checked before anything is sent") {
  with_world(2, {}, [](Communicator& comm) {
    std::vector<float> data(10);
    expect(error_of([&] { comm.all_reduce(nullptr, data.data(), 10, f32); }),
           ErrorCode::invalid_argument, "input is null");
    expect(error_of([&] { comm.all_reduce(data.data(), nullptr, 10, f32); }),
           ErrorCode::invalid_argument, "output is null");
    expect(error_of([&] { comm.broadcast(data.data(), data.data(), 10, f32, 2); }),
           ErrorCode::invalid_argument, "root 2 is not a rank");
    expect(error_of([&] { comm.all_reduce(data.data(), data.data() + 1, 5, f32); }),
           ErrorCode::invalid_argument, "overlap in part");
    expect(error_of([&] { comm.all_to_all(data.data(), data.data(), 5, f32); }),
           ErrorCode::invalid_argument, "in place");
    expect(error_of([&] { comm.all_reduce(data.data(), data.data(), ~std::size_t{0}, f32); }),
           ErrorCode::invalid_argument, "count");
    expect(
        error_of([&] { comm.all_reduce(data.data(), data.data(), 1, static_cast<DataType>(99)); }),
        ErrorCode::invalid_argument, "data type 99");
    // More than there is memory behind the buffer.
    for (const std::size_t count : {std::size_t{1} << 40, std::size_t{1} << 56}) {
      const std::string words = " bytes from there on are not all memory of this process";
      expect(error_of([&] { comm.all_reduce(data.data(), data.data(), count, f32); }),
             ErrorCode::invalid_argument, words);
      expect(error_of([&] { comm.broadcast(data.data(), data.data(), count, f32, 0); }),
             ErrorCode::invalid_argument, words);
      // Apart, so that they do not overlap.
      const auto* const far = reinterpret_cast<const float*>(std::uintptr_t{1} << 62);
      expect(error_of([&] { comm.all_reduce(data.data(), const_cast<float*>(far), count, f32); }),
             ErrorCode::invalid_argument, words);
      expect(error_of([&] { comm.send(data.data(), count, f32, 1 - comm.rank()); }),
             ErrorCode::invalid_argument, "buffer: " + std::to_string(4 * count) + words);
      expect(error_of([&] { comm.recv(data.data(), count, f32, 1 - comm.rank()); }),
             ErrorCode::invalid_argument, words);
    }
    expect(error_of(
               [&] { comm.exclusive_scan(data.data(), data.data(), 1, f32, ReduceOperator::avg); }),
           ErrorCode::invalid_argument, "avg divides by the number of all ranks");
    for (const auto& op : reduce_operators) {
      if (!op.bitwise) continue;
      const std::string words = std::string(op.name) + " combines the bits of integers, not of ";
      expect(error_of([&] { comm.all_reduce(data.data(), data.data(), 10, f32, op.op); }),
             ErrorCode::invalid_argument, words + "float32");
      expect(error_of([&] {
               comm.reduce_async(data.data(), data.data(), 10, DataType::float8_e4m3, op.op, 0);
             }),
             ErrorCode::invalid_argument, words + "float8_e4m3");
      expect(error_of([&] { comm.describe(Collective::reduce_scatter, 1, f32, op.op); }),
             ErrorCode::invalid_argument, words + "float32");
    }
    expect(error_of([&] { comm.describe(static_cast<Collective>(99), 1, f32); }),
           ErrorCode::invalid_argument, "unknown collective 99");
    expect(error_of([&] { comm.send(data.data(), 1, f32, 7); }), ErrorCode::invalid_argument,
           "peer 7 is not a rank");
    expect(error_of([&] { comm.send(data.data(), 1, f32, comm.rank()); }), ErrorCode::invalid_usage,
           "Group");
    comm.barrier();  // and the communicator still works
  });
}

TEST_CASE("an empty or finalized handle says so") {
  Communicator empty;
  expect(error_of([&] { empty.barrier(); }), ErrorCode::invalid_usage, "empty");
  with_world(2, {}, [](Communicator& comm) {
    comm.barrier();
    comm.finalize();
    comm.finalize();
    expect(error_of([&] { comm.barrier(); }), ErrorCode::invalid_usage, "finalized");
  });
}

TEST_CASE("unknown names in options list the known ones") {
  expect(error_of([] { Communicator::from_threads(2, {.transport = "pigeon"}); }),
         ErrorCode::configuration, "shm");
  expect(error_of([] { Communicator::from_threads(2, {.algorithm = "bogo"}); }),
         ErrorCode::configuration, "ring");
  expect(error_of([] { Communicator::from_threads(2, {.algorithm = "all_reduce:pairwise"}); }),
         ErrorCode::configuration, "two_shot");
}

TEST_CASE("ranks that disagree are both named, on every rank") {
  struct Disagreement {
    const char* what;
    std::function<void(Communicator&, std::vector<float>&)> call;
    const char* expected;
  };
  const Disagreement cases[] = {
      {"count",
       [](auto& c, auto& d) { c.all_reduce(d.data(), d.data(), c.rank() == 2 ? 8 : 4, f32); },
       "8 x float32"},
      {"collective",
       [](auto& c, auto& d) {
         if (c.rank() == 2) return c.barrier();
         c.all_reduce(d.data(), d.data(), 4, f32);
       },
       "barrier"},
      {"type",
       [](auto& c, auto& d) {
         c.all_reduce(d.data(), d.data(), 4, c.rank() == 2 ? DataType::int32 : f32);
       },
       "int32"},
      {"operator",
       [](auto& c, auto& d) {
         c.all_reduce(d.data(), d.data(), 4, f32,
                      c.rank() == 2 ? ReduceOperator::max : ReduceOperator::sum);
       },
       "max"},
      {"root",
       [](auto& c, auto& d) { c.broadcast(d.data(), d.data(), 4, f32, c.rank() == 2 ? 1 : 0); },
       "root 1"},
  };
  for (const Disagreement& disagreement : cases) {
    INFO(disagreement.what);
    with_world(3, {}, [&](Communicator& comm) {
      std::vector<float> data(16);
      // A rank may complete the odd call (a broadcast's root needs no other rank). Then it learns
      // from the next one.
      const Error error = error_of([&] {
        disagreement.call(comm, data);
        comm.barrier();
      });
      expect(error, ErrorCode::mismatch, disagreement.expected);
      expect(error, ErrorCode::mismatch, "rank 2");
    });
  }
}

TEST_CASE("a rank that waits for nobody hears in finalize() that the ranks disagreed") {
  std::barrier all_have_called(3);
  with_world(3, {}, [&](Communicator& comm) {
    std::vector<float> data(4);
    std::string words;
    try {
      comm.broadcast(data.data(), data.data(), 4, f32, comm.rank() % 2);
    } catch (const Error& error) {
      words = error.what();
    }
    all_have_called.arrive_and_wait();
    if (words.empty()) words = error_of([&] { comm.finalize(); }).what();
    if (words.find("calls broadcast #1 (4 x float32, root 1)") == std::string::npos)
      throw std::runtime_error("unexpected: " + words);
  });
}

TEST_CASE("abort from any thread ends a call that waits, on every rank") {
  with_world(3, {}, [](Communicator& comm) {
    if (comm.rank() == 0) {
      std::thread aborter([&] { comm.abort("enough"); });
      aborter.join();
    }
    expect(error_of([&] {
             comm.barrier();
             comm.barrier();
           }),
           ErrorCode::aborted, "enough");
  });
}

TEST_CASE("a rank that never comes is named at the deadline") {
  with_world(3, {.timeout = 1500ms}, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    expect(error_of([&] { comm.barrier(); }), ErrorCode::timeout, "rank 1");
  });
}

TEST_CASE("a timeout that is set later holds for a call that waits already, and for children") {
  std::vector<Communicator> before(2);  // rank 1 stays in it, and is silent
  std::vector<Communicator> after(2);
  with_world(2, {}, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    before[rank] = comm.dup();
    comm.set_timeout(700ms);
    after[rank] = comm.dup();
    if (rank == 1) return;
    const auto wait = [](Communicator& which) { return error_of([&] { which.barrier(); }); };
    const Error late = wait(after[0]);
    expect(late, ErrorCode::timeout, "within 0.7 s");
    expect(late, ErrorCode::timeout, "raise the timeout that the program set");
    std::thread setter([&] { before[0].set_timeout(300ms); });  // before or while it waits
    expect(wait(before[0]), ErrorCode::timeout, "within 0.3 s");
    setter.join();
  });
}

TEST_CASE("a timeout must be positive and not too long") {
  Communicator alone = std::move(Communicator::from_threads(1).front());
  for (const auto wrong : {0ms, -1ms, std::chrono::milliseconds::max()})
    expect(error_of([&] { alone.set_timeout(wrong); }), ErrorCode::invalid_argument, "ms");
  Communicator none;
  expect(error_of([&] { none.set_timeout(1s); }), ErrorCode::invalid_usage, "empty");
}

TEST_CASE("a message to the rank itself without its other side is named at the deadline") {
  const bool sends = GENERATE(true, false);
  with_world(2, {}, [&](Communicator& comm) {
    std::vector<int> data(4);
    comm.barrier();
    if (comm.rank() == 0) return;
    comm.set_timeout(700ms);
    Work work = sends ? comm.send_async(data.data(), 4, DataType::int32, 1)
                      : comm.recv_async(data.data(), 4, DataType::int32, 1);
    const Error error = error_of([&] { work.wait(); });
    expect(error, ErrorCode::timeout,
           std::string("a ") + (sends ? "send" : "recv") +
               " of 4 x int32 between rank 1 and itself did not complete within 0.7 s: its other "
               "side was not called");
    expect(error, ErrorCode::timeout, "start both sides");
  });
}

TEST_CASE("a recv that nobody answers names the peer at the deadline") {
  with_world(2, {.timeout = 1500ms}, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    float value = 0;
    expect(error_of([&] { comm.recv(&value, 1, f32, 1); }), ErrorCode::timeout, "rank 1");
  });
}

TEST_CASE("a group left by an exception ends its calls: nothing writes to their buffers later") {
  with_world(2, {}, [](Communicator& comm) {
    if (comm.rank() == 0) {
      expect(error_of([&] {
               int value = 0;
               Group group;
               comm.recv(&value, 1, DataType::int32, 1);
               comm.send(&value, 1, DataType::int32, 9);
             }),
             ErrorCode::invalid_argument, "peer 9");
    }
    expect(error_of([&] {
             comm.barrier();
             comm.barrier();
           }),
           ErrorCode::aborted, "left a rondo::Group");
  });
}

TEST_CASE("a recv from the rank itself that nobody sends ends at the deadline") {
  // Many rounds, since the wait may find the progress thread at its start, with the progress lock.
  for (int round = 0; round < 50; ++round) {
    Communicator alone = std::move(Communicator::from_threads(1, {.timeout = 10ms}).front());
    int value = 0;
    Work work = alone.recv_async(&value, 1, DataType::int32, 0);
    CHECK_THROWS_AS(work.wait(), Error);
  }
}

TEST_CASE("a thread that asks for traffic() all the time does not hold up another's timeout") {
  const char* const transport = GENERATE("local", "shm", "tcp");
  INFO(transport);
  std::vector<Communicator> comms =
      Communicator::from_threads(2, {.transport = transport, .timeout = 100ms});
  std::atomic<bool> over{false};
  std::thread asks([&] {
    while (!over.load(std::memory_order_relaxed)) (void)comms[0].traffic();
  });
  int value = 0;
  Work never = comms[0].recv_async(&value, 1, DataType::int32, 1);
  expect(error_of([&] { never.wait(); }), ErrorCode::timeout, "did not complete within 0.1 s");
  over.store(true, std::memory_order_relaxed);
  asks.join();
}

TEST_CASE("slots too small for a schedule's messages are refused") {
  ::setenv("RONDO_SLOT_BYTES", "64", 1);
  CHECK_NOTHROW(Communicator::from_threads(2));
  std::vector<Communicator> comms =
      Communicator::from_threads(32, {.algorithm = "all_reduce:circulant"});
  ::unsetenv("RONDO_SLOT_BYTES");
  test::on_all_ranks(32, [&](int rank) {
    std::vector<double> data(32);
    expect(error_of([&] {
             comms[static_cast<std::size_t>(rank)].all_reduce(data.data(), data.data(), 32,
                                                              DataType::float64);
           }),
           ErrorCode::configuration, "too small for a message");
  });
}

TEST_CASE("the two sides of a message must agree") {
  with_world(2, {}, [](Communicator& comm) {
    std::vector<float> data(8);
    const Error error = error_of([&] {
      if (comm.rank() == 0) comm.send(data.data(), 4, f32, 1);
      if (comm.rank() == 1) comm.recv(data.data(), 8, f32, 0);
      comm.barrier();
    });
    expect(error, ErrorCode::mismatch, "count or type");
  });
}

// Rank 1 never sends. Messages with rank 2 that go on meanwhile are no progress of that receive.
TEST_CASE("progress of other calls does not put off the deadline of the one that is awaited") {
  with_world(3, {.timeout = 300ms}, [](Communicator& comm) {
    std::vector<float> data(1000);
    std::vector<float> awaited(1000);
    const auto error = error_of([&] {
      if (comm.rank() == 1) {
        for (;;) comm.recv(data.data(), data.size(), f32, 2);
      }
      Work never;
      if (comm.rank() == 0) never = comm.recv_async(awaited.data(), awaited.size(), f32, 1);
      for (;;) {
        if (comm.rank() == 0) comm.send(data.data(), data.size(), f32, 2);
        if (comm.rank() == 2) comm.recv(data.data(), data.size(), f32, 0);
        if (comm.rank() == 2) comm.send(data.data(), data.size(), f32, 1);
      }
    });
    expect(error, ErrorCode::timeout, "recv of 1000 x float32 did not complete within 0.3 s");
  });
}

}  // namespace
}  // namespace rondo
