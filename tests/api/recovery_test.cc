// Survivors agree, shrink and go on; a communicator grows.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "rondo/rondo.h"
#include "tests/api/expected_error.h"
#include "tests/api/join.h"
#include "tests/catch.h"
#include "tests/ports.h"
#include "tests/support/processes.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::Child;
using test::error_of;
using test::expect;
using test::expect_that;
using test::join;

constexpr std::size_t count = 5000;

std::string list(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

/// Each element is the sum over the ranks of what they give.
void check_sum(Communicator& comm, int mine, int sum) {
  std::vector<std::int32_t> values(count);
  std::iota(values.begin(), values.end(), mine);
  comm.all_reduce(values);
  for (std::size_t i = 0; i < count; ++i)
    expect_that(values[i] == sum + comm.size() * static_cast<int>(i), "an element of the sum");
}

/// Sums until a rank dies.
Error work_until_failure(Communicator& comm) {
  return error_of([&] {
    std::vector<float> values(count);
    for (;;) comm.all_reduce(values);
  });
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// What the ranks of `children` that did not die have reported, which must be the same.
std::string report_of_survivors(std::vector<Child>& children) {
  std::string said;
  for (Child& child : children) {
    const std::string report = child.report();
    if (report.empty()) continue;  // killed
    if (said.empty()) said = report;
    CHECK(report == said);
  }
  return said;
}

TEST_CASE("survivors of kill -9 agree on who is lost, shrink, and go on, twice") {
  const std::string transport = GENERATE("shm", "tcp");
  const auto victims = GENERATE(std::pair{1, 3}, std::pair{4, 2}, std::pair{3, 1}, std::pair{0, 1},
                                std::pair{2, 0}, std::pair{0, 4});
  const int port = free_port();
  auto children = test::start_ranks(5, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 5, transport);
    check_sum(world, rank, 10);
    if (rank == victims.first) die();
    expect(work_until_failure(world), ErrorCode::peer_lost,
           "rank " + std::to_string(victims.first));
    const Agreed agreed = world.agree(0b111U & ~(std::uint64_t{1} << (rank % 2)));
    std::string text = "flags " + std::to_string(agreed.flags) + " lost " + list(agreed.lost);
    Communicator fewer = world.shrink();
    check_sum(fewer, rank, 10 - victims.first);
    if (rank == victims.second) die();
    work_until_failure(fewer);
    Communicator fewest = fewer.shrink();
    check_sum(fewest, rank, 10 - victims.first - victims.second);
    // The place in the smaller communicator follows from the order of ranks.
    expect_that(fewest.rank() == rank - (rank > victims.first) - (rank > victims.second), "place");
    text += " size " + std::to_string(fewest.size());
    text += " of the first, lost " + list(world.agree().lost);
    fewest.finalize();
    return text;
  });
  const int low = std::min(victims.first, victims.second);
  const int high = std::max(victims.first, victims.second);
  // Each flag but the third was missing on one rank.
  CHECK(report_of_survivors(children) == "flags 4 lost " + std::to_string(victims.first) +
                                             " size 3 of the first, lost " + list({low, high}));
}

TEST_CASE("ranks that die together are all lost, also those next in line to serve the job") {
  const auto dies = [](int rank) { return rank == 0 || rank == 1 || rank == 3; };
  const int port = free_port();
  auto children = test::start_ranks(6, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 6, "shm");
    world.barrier();
    if (dies(rank)) die();
    Communicator fewer = world;
    do {
      fewer = fewer.shrink();
    } while (fewer.size() > 3);
    check_sum(fewer, rank, 2 + 4 + 5);
    fewer.finalize();
    return "lost " + list(world.agree().lost);
  });
  CHECK(report_of_survivors(children) == "lost 0,1,3");
}

// After each end another rank serves the job.
TEST_CASE("ranks end in order one after the other, and the rest make communicators and shrink") {
  const int port = free_port();
  const std::array<test::Gate, 2> has_ended;
  auto children = test::start_ranks(5, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 5, "shm");
    for (const test::Gate& gate : has_ended) {
      Communicator rest = world.split(world.rank() == 0 ? 0 : 1);
      if (world.rank() == 0) return "ended";
      gate.pass();
      world = rest.dup();
      check_sum(world, rank, world.size() == 4 ? 1 + 2 + 3 + 4 : 2 + 3 + 4);
    }
    if (rank == 2) die();
    expect(work_until_failure(world), ErrorCode::peer_lost, "rank 0 (world rank 2");
    world = world.shrink();
    check_sum(world, rank, 3 + 4);
    world.finalize();
    return "went on";
  });
  for (const int rank : {0, 1}) {
    CHECK(children[static_cast<std::size_t>(rank)].report() == "ended");
    has_ended[static_cast<std::size_t>(rank)].open(4 - rank);
  }
  for (const std::size_t rank : {3U, 4U}) CHECK(children[rank].report() == "went on");
}

// Any moment is right, so nothing rests on how long the pause really is.
// The victim dies before, in or after the making of a smaller communicator, which may then hold it.
TEST_CASE("whenever a rank dies while the communicator shrinks, the others go on together") {
  const auto moment = std::chrono::microseconds(GENERATE(0, 100, 200, 400, 800, 1600, 3200));
  const int port = free_port();
  auto children = test::start_ranks(4, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 4, "shm");
    world.barrier();
    if (rank == 2) {
      std::thread([&] {
        std::this_thread::sleep_for(moment);
        die();
      }).detach();
      const Communicator kept = world.shrink();
      for (;;) ::pause();
    }
    for (;;) {
      world = world.shrink();
      try {
        check_sum(world, rank, 4);
        world.finalize();
        return "size " + std::to_string(world.size());
      } catch (const Error& error) {
        expect(error, ErrorCode::peer_lost, "rank 2");
      }
    }
  });
  CHECK(report_of_survivors(children) == "size 3");
}

TEST_CASE("a revoked communicator ends on every rank, and shrinks to all of them") {
  test::with_world(4, {}, [](Communicator& world) {
    if (world.rank() == 3) world.revoke("enough");
    expect(work_until_failure(world), ErrorCode::aborted, "enough");
    const Agreed agreed = world.agree(0b101);
    expect_that(agreed.flags == 0b101 && agreed.lost.empty(), "all agree");
    Communicator again = world.shrink();
    expect_that(again.rank() == world.rank(), "the same place");
    check_sum(again, again.rank(), 6);
  });
}

TEST_CASE("ranks agree where nothing has failed, too, and go on") {
  test::with_world(3, {}, [](Communicator& world) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto mine = round | std::uint64_t{1} << (8 + world.rank());
      const Agreed agreed = world.agree(mine);
      expect_that(agreed.flags == round && agreed.lost.empty(), "the flags that all have");
      check_sum(world, world.rank(), 3);
    }
  });
}

TEST_CASE("the others go on without a rank that does not come, and it is told so") {
  std::vector<Communicator> comms = Communicator::from_threads(3);
  std::atomic<int> gone_on{0};
  test::on_all_ranks(3, [&](int rank) {
    Communicator& world = comms[static_cast<std::size_t>(rank)];
    if (rank == 1) {
      while (gone_on.load(std::memory_order_acquire) < 2) std::this_thread::yield();
      expect(error_of([&] { world.agree(); }), ErrorCode::timeout,
             "the other ranks agreed to go on without this one");
      expect(error_of([&] { world.barrier(); }), ErrorCode::timeout,
             "rank 1 did not come to agree() or shrink() within 0.05 s");
      return;
    }
    world.set_timeout(50ms);
    expect_that(world.agree().lost == std::vector<int>{1}, "the late rank is lost");
    world.set_timeout(60s);
    world = world.shrink();
    check_sum(world, rank, 2);
    gone_on.fetch_add(1, std::memory_order_release);
  });
}

TEST_CASE("to agree while another rank shrinks is a mismatch, which names both") {
  test::with_world(3, {}, [](Communicator& world) {
    const auto both = [&] { world.rank() == 1 ? void(world.shrink()) : void(world.agree()); };
    expect(error_of(both), ErrorCode::mismatch, "rank 0 calls agree, but rank 1 calls shrink");
  });
}

TEST_CASE("to agree while another rank splits is a mismatch, which names both") {
  test::with_world(2, {}, [](Communicator& world) {
    if (world.rank() == 0) {
      expect(error_of([&] { world.split(0); }), ErrorCode::mismatch,
             "rank 1 agrees or shrinks, but rank 0 makes another communicator");
    }
    expect_that(world.agree().lost.empty(), "it agrees afterwards");
  });
}

TEST_CASE("a rank that has finalized is lost to the others, and can neither agree nor shrink") {
  test::with_world(3, {}, [](Communicator& world) {
    if (world.rank() == 2) {
      world.finalize();
      expect(error_of([&] { world.agree(); }), ErrorCode::invalid_usage, "was finalized");
      expect(error_of([&] { world.shrink(); }), ErrorCode::invalid_usage, "was finalized");
      return;
    }
    expect_that(world.agree().lost == std::vector<int>{2}, "it is lost");
    Communicator fewer = world.shrink();
    check_sum(fewer, world.rank(), 1);
  });
  Communicator empty;
  expect(error_of([&] { empty.agree(); }), ErrorCode::invalid_usage, "empty");
}

TEST_CASE("a communicator grows by new ranks, which bring the numbers behind the old ones") {
  const UniqueId id = make_unique_id();
  const UniqueId larger = make_unique_id();
  test::on_all_ranks(5, [&](int rank) {
    Communicator world;
    if (rank < 3) {
      Communicator small = Communicator::from_unique_id(id, rank, 3, {.timeout = 77s});
      expect(error_of([&] { small.grow(3, larger); }), ErrorCode::invalid_argument,
             "a communicator of 3 ranks cannot grow to 3");
      expect(error_of([&] { small.grow(5); }), ErrorCode::invalid_usage, "no rank brought");
      world = rank == 1 ? small.grow(5, larger) : small.grow(5);
    } else {
      world = Communicator::from_unique_id(larger, rank, 5);
    }
    expect_that(world.rank() == rank && world.size() == 5, "the place");
    check_sum(world, rank, 10);
    world.finalize();
  });
}

}  // namespace
}  // namespace rondo
