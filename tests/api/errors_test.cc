// Errors a user can make or meet: each is typed, names what matters, and nothing hangs.
#include <chrono>
#include <cstdlib>
#include <functional>

#include "tests/api/threads.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using test::with_world;
using namespace std::chrono_literals;

constexpr auto f32 = DataType::float32;

/// The error that `body` throws; fails the test when it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("no error was thrown");
}

void expect(const Error& error, ErrorCode code, const std::string& part) {
  if (error.code() != code || std::string(error.what()).find(part) == std::string::npos) {
    throw std::runtime_error("unexpected: " + std::string(name(error.code())) + ": " +
                             error.what());
  }
}

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
      // A rank may complete the odd call (a broadcast's root needs nobody) and learns from the
      // next.
      const Error error = error_of([&] {
        disagreement.call(comm, data);
        comm.barrier();
      });
      expect(error, ErrorCode::mismatch, disagreement.expected);
      expect(error, ErrorCode::mismatch, "rank 2");
    });
  }
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

TEST_CASE("a recv that nobody answers names the peer at the deadline") {
  with_world(2, {.timeout = 1500ms}, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    float value = 0;
    expect(error_of([&] { comm.recv(&value, 1, f32, 1); }), ErrorCode::timeout, "rank 1");
  });
}

TEST_CASE(
    "a group that an exception leaves ends its calls: nothing writes to their buffers later") {
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

TEST_CASE("a recv from this very rank that nobody sends ends at the deadline") {
  Communicator alone = std::move(Communicator::from_threads(1, {.timeout = 200ms}).front());
  int value = 0;
  Work work = alone.recv_async(&value, 1, DataType::int32, 0);
  CHECK_THROWS_AS(work.wait(), Error);
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

}  // namespace
}  // namespace rondo
