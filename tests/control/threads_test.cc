// A world of threads: bootstrap, exchange, failure, and finding out why nothing moves.
#include "tests/support/threads.h"

#include <thread>

#include "core/control/control.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using Lines = std::vector<std::shared_ptr<ControlChannel>>;

HostInfo test_host() { return {.host = "h", .hostname = "x", .process = 1, .pid = 77}; }

struct ThreadWorld {
  explicit ThreadWorld(int ranks, std::chrono::milliseconds deadline = std::chrono::seconds{60})
      : controls(meet_threads(ranks, test_host(), deadline)) {
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  }
  Lines open(std::uint64_t number = 0) {
    Lines channels;
    for (const int rank : all) channels.push_back(controls[rank]->open(number, all));
    return channels;
  }
  std::vector<std::shared_ptr<Control>> controls;
  std::vector<int> all;
};

TEST_CASE("threads exchange blobs by rank, any number of times") {
  ThreadWorld world(4);
  auto channels = world.open();
  std::vector<std::vector<std::string>> results(4);
  test::on_all_ranks(4, [&](int rank) {
    for (int round = 0; round < 50; ++round)
      results[rank] = channels[rank]->exchange(std::to_string(rank * 100 + round));
  });
  for (const auto& result : results) {
    CHECK(result == std::vector<std::string>{"49", "149", "249", "349"});
  }
}

/// The error of an exchange in which some rank takes no part.
Error failure_of_exchange(const std::shared_ptr<ControlChannel>& channel) {
  try {
    channel->exchange("a");
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "it did not fail"};
}

constexpr std::chrono::milliseconds soon{200};

TEST_CASE("an exchange that a rank does not join ends at the deadline and names it") {
  ThreadWorld world(2, soon);
  auto channels = world.open();
  const Error error = failure_of_exchange(channels[0]);
  CHECK(error.code() == ErrorCode::bootstrap);
  CHECK(std::string(error.what()) ==
        "rondo: rank 0: rank 1 did not take part in making the communicator within 0.2 s: rank 1 "
        "(host x, pid 77) [peer rank 1]. Try: make the communicator on every rank, or raise "
        "RONDO_BOOTSTRAP_TIMEOUT");
  CHECK(channels[1]->failed());
  CHECK(failure_of_exchange(channels[1]).message() == error.message());
}

TEST_CASE("all ranks that wait for one that does not join are told the same") {
  ThreadWorld world(4, soon);
  auto channels = world.open();
  std::vector<std::string> told(3);
  test::on_all_ranks(3,
                     [&](int rank) { told[rank] = failure_of_exchange(channels[rank]).message(); });
  // Besides rank 3, ranks count as missing that came after the first one's time was over.
  const auto end = told[0].find(" did not take part in making the communicator within 0.2 s");
  REQUIRE(end != std::string::npos);
  CHECK(told[0][end - 1] == '3');
  CHECK(told[1] == told[0]);
  CHECK(told[2] == told[0]);
  CHECK(channels[3]->failed());
}

TEST_CASE("a failure reaches every member, of this communicator only; the first wins") {
  ThreadWorld world(4);
  auto channels = world.open();
  const std::vector<int> pair{3, 1};
  auto other_1 = world.controls[1]->open(7, pair);
  auto other_3 = world.controls[3]->open(7, pair);
  channels[1]->fail(Error(ErrorCode::aborted, "the communicator was aborted"));
  channels[2]->fail(Error(ErrorCode::system, "too late"));
  for (const auto& channel : channels) REQUIRE(channel->failed());
  CHECK(std::string(channels[1]->failure().what()) ==
        "rondo: rank 1: the communicator was aborted");
  CHECK(std::string(channels[0]->failure().what()) ==
        "rondo: rank 0: rank 1 reports: the communicator was aborted [peer rank 1]");
  CHECK(channels[2]->failure().code() == ErrorCode::aborted);
  CHECK_FALSE(other_1->failed());
  CHECK_FALSE(other_3->failed());
}

Call sum_of(std::uint64_t sequence, std::uint64_t count) {
  return {.sequence = sequence,
          .count = count,
          .collective = Collective::all_reduce,
          .type = DataType::float32};
}

TEST_CASE("ranks that disagree are named, both sides, on every rank") {
  ThreadWorld world(3);
  auto channels = world.open();
  for (const int rank : {0, 1, 2}) channels[rank]->calls().begin(sum_of(1, rank == 2 ? 8 : 4));
  channels[0]->report_stall(false);
  for (const int rank : {0, 1, 2}) {
    REQUIRE(channels[rank]->failed());
    CHECK(channels[rank]->failure().code() == ErrorCode::mismatch);
    CHECK(channels[rank]->failure().rank() == rank);
    CHECK(channels[rank]->failure().peer() == (rank == 2 ? 0 : 2));
  }
  CHECK(std::string(channels[2]->failure().what()) ==
        "rondo: rank 2: ranks 0, 1 call all_reduce #1 (4 x float32, sum) but rank 2 calls "
        "all_reduce #1 (8 x float32, sum) [peer rank 0] [in all_reduce #1 (8 x float32, sum)]. "
        "Try: make every rank call the same collective with the same count, type, operator and "
        "root, in the same order");
}

TEST_CASE("a rank that does not come is waited for, then named with the deadline") {
  ThreadWorld world(3);
  auto channels = world.open();
  for (const auto& channel : channels) channel->set_timeout(std::chrono::seconds{300});
  for (const int rank : {0, 1}) channels[rank]->calls().begin(sum_of(1, 4));
  channels[0]->report_stall(false);
  CHECK_FALSE(channels[0]->failed());
  channels[0]->report_stall(true);
  for (const auto& channel : channels) REQUIRE(channel->failed());
  CHECK(std::string(channels[1]->failure().what()) ==
        "rondo: rank 1: all_reduce #1 (4 x float32, sum) did not complete within 300 s: rank 2 "
        "(host x, pid 77) has not entered it; it has made no call yet; it is computing, in a "
        "send or recv, or stuck outside rondo [peer rank 2] [in all_reduce #1 (4 x float32, sum)]. "
        "Try: find out what "
        "rank 2 did instead, or raise RONDO_TIMEOUT if it only needs more time");
  CHECK(channels[1]->failure().code() == ErrorCode::timeout);
  CHECK(channels[2]->failure().peer() == 0);
}

TEST_CASE("leaving is no failure, unless someone waits for the rank that left") {
  ThreadWorld world(3);
  auto channels = world.open();
  channels[2]->leave();
  channels[2].reset();
  world.controls[2].reset();
  CHECK_FALSE(channels[0]->failed());
  channels[0]->calls().begin(sum_of(1, 4));
  channels[0]->report_stall(false);
  REQUIRE(channels[1]->failed());
  CHECK(channels[1]->failure().message() ==
        "rank 2 (host x, pid 77) has left the communicator (it has made no call yet), but rank 0 "
        "waits for it in all_reduce #1 (4 x float32, sum)");
}

constexpr std::chrono::minutes patient{1};

TEST_CASE("calls are compared at the end with those that others have begun") {
  for (const bool leaves : {false, true}) {
    ThreadWorld world(3);
    auto channels = world.open();
    for (const int rank : {0, 1}) channels[rank]->calls().begin(sum_of(1, 4));
    channels[0]->compare_calls(soon);  // in vain: rank 2 has not begun it
    if (leaves) channels[0]->leave();
    CHECK_FALSE(channels[0]->failed());
    channels[2]->calls().begin(sum_of(1, 8));
    channels[leaves ? 2 : 1]->compare_calls(patient);
    for (const auto& channel : channels) {
      REQUIRE(channel->failed());
      CHECK(channel->failure().code() == ErrorCode::mismatch);
    }
    CHECK(channels[2]->failure().message() ==
          "ranks 0, 1 call all_reduce #1 (4 x float32, sum) but rank 2 calls all_reduce #1 "
          "(8 x float32, sum)");
  }
}

TEST_CASE("a rank that compares calls is let go when all that stay have begun as many") {
  ThreadWorld world(3);
  auto channels = world.open();
  for (const int rank : {0, 1}) channels[rank]->calls().begin(sum_of(1, 4));
  channels[2]->leave();
  channels[0]->compare_calls(patient);
  channels[0]->leave();
  channels[1]->compare_calls(patient);
  for (const auto& channel : channels) CHECK_FALSE(channel->failed());
}

TEST_CASE("a rank that compares calls waits for one that has begun fewer") {
  ThreadWorld world(2);
  auto channels = world.open();
  channels[0]->calls().begin(sum_of(1, 4));
  std::thread first([&] { channels[0]->compare_calls(patient); });
  channels[1]->calls().begin(sum_of(1, 4));
  channels[1]->compare_calls(patient);
  first.join();
  for (const auto& channel : channels) CHECK_FALSE(channel->failed());
}

TEST_CASE("a hundred communicators come and go") {
  ThreadWorld world(4);
  for (std::uint64_t number = 0; number < 100; ++number) {
    auto channels = world.open(number);
    channels[number % 4].reset();
    for (const auto& channel : channels) CHECK((channel == nullptr || !channel->failed()));
  }
}

}  // namespace
}  // namespace rondo
