// Short ragged calls: repeated ones, and ranks that have nothing to do with the others.
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>

#include "core/execute/control_block.h"
#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using Sizes = std::vector<std::size_t>;

/// Elements of the blocks, by rank: some for flag lines, mailboxes and staging buffers, some none.
std::vector<Sizes> short_patterns(int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  Sizes ramp(size);
  std::iota(ramp.begin(), ramp.end(), 0);
  std::vector<Sizes> patterns{ramp};
  for (const std::size_t elements : {1, 13, 257}) {
    for (const std::size_t owner : {std::size_t{0}, size - 1}) {
      patterns.emplace_back(size, 0);
      patterns.back()[owner] = elements;
    }
    patterns.emplace_back(size, elements);
    patterns.back()[size / 2] = 0;
  }
  return patterns;
}

/// Every type with every pattern, in and out of place. Each comes twice, so that it is prepared
/// once and found once.
std::vector<test::Case> short_cases(Collective collective, int ranks) {
  std::vector<test::Case> cases;
  for (const DataTypeInfo& type : data_types) {
    for (const Sizes& counts : short_patterns(ranks)) {
      for (const bool in_place : {false, false, true, true}) {
        const int root = info(collective).has_root ? static_cast<int>(cases.size()) / 2 % ranks : 0;
        const Call call{.collective = collective, .type = type.type, .root = root};
        cases.push_back({call, counts, in_place});
      }
    }
  }
  return cases;
}

TEST_CASE("short ragged blocks of every type, by ranks that wait and ranks that test later") {
  const auto collective = GENERATE(Collective::all_gather, Collective::reduce_scatter,
                                   Collective::gather, Collective::scatter);
  const int ranks = GENERATE(2, 3, 5);
  const char* const transport = GENERATE("local", "shm");
  INFO(ranks << " ranks over " << transport);
  const Algorithm& row = test::in_rank_order(collective);
  std::vector<test::Trial> trials;
  for (const test::Case& each : short_cases(collective, ranks))
    trials.emplace_back(each, row.build(ranks, each.call.root));
  REQUIRE(trials.size() > detail::most_slots);
  test::with_world(ranks, {.transport = transport, .algorithm = "direct"}, [&](Communicator& comm) {
    int turn = comm.rank();
    for (const test::Trial& trial : trials) {
      const bool in_group = turn++ % 3 == 0;
      trial.run(comm.rank(), [&](const void* in, void* out) {
        std::optional<Group> group;
        if (in_group) group.emplace();
        test::make_call(comm, trial.given(), in, out);
        if (in_group) group->wait();
      });
    }
  });
}

TEST_CASE("repeated ragged calls use their own counts") {
  // The first three have the same ends.
  const std::vector<Sizes> lists{{1, 2, 3}, {1, 7, 3}, {1, 0, 3}, {4, 4, 4}, {0, 9, 0}, {0, 0, 0}};
  std::vector<test::Trial> trials;
  for (unsigned round = 0; round < 60; ++round) {
    const auto op = round % 2 == 0 ? ReduceOperator::sum : ReduceOperator::max;
    const int root = round % 4 == 0 ? 2 : static_cast<int>(round % 3);
    for (const auto collective : {Collective::gather, Collective::scatter, Collective::all_gather,
                                  Collective::reduce_scatter}) {
      trials.emplace_back(test::Case{.call = {.collective = collective,
                                              .type = DataType::int32,
                                              .op = op,
                                              .root = info(collective).has_root ? root : 0},
                                     .counts = lists[round * 5 / 2 % lists.size()],
                                     .salt = round},
                          3);
    }
  }
  test::with_world(3, {}, [&](Communicator& comm) { test::make_calls(comm, trials); });
}

TEST_CASE("a rank without data in the first call does not keep the others waiting") {
  /// Tells the idle rank that another one is through, be it by an error.
  struct Through {
    std::atomic<int>& others;  // released here, acquired by the idle rank
    ~Through() {
      others.fetch_add(1, std::memory_order_release);
      others.notify_one();
    }
  };
  const char* const transport = GENERATE("shm", "local");
  const int idle = GENERATE(0, 1, 2);
  std::atomic<int> others{0};
  Options options{.transport = transport};
  options.timeout = std::chrono::seconds(60);  // ends a rank that would wait for ever
  test::with_world(3, options, [&](Communicator& comm) {
    Sizes counts(3, 2);
    counts[static_cast<std::size_t>(idle)] = 0;
    const std::vector<int> in(2, comm.rank());
    std::vector<int> out(4, -1);
    const int root = (idle + 1) % 3;
    if (comm.rank() != idle) {
      const Through through{others};
      return comm.gather_v(in.data(), out.data(), counts, DataType::int32, root);
    }
    comm.gather_v(in.data(), out.data(), counts, DataType::int32, root);
    for (int done = 0; done < 2; done = others.load(std::memory_order_acquire))
      others.wait(done, std::memory_order_acquire);
  });
  CHECK(others.load(std::memory_order_relaxed) == 2);
}

TEST_CASE("in short calls nobody waits for a rank that gives it nothing") {
  struct Early {
    Collective collective;
    int rank;  // with blocks of 4 and 0 elements it reads nothing of the other one
  };
  const Early early = GENERATE(Early{Collective::all_gather, 0}, Early{Collective::gather, 0},
                               Early{Collective::scatter, 1}, Early{Collective::reduce_scatter, 1});
  const char* const algorithm = GENERATE("", "^direct");
  std::atomic<int> calls_done{0};  // of the early rank. Release there, acquire in the late one
  Options options{.algorithm = algorithm};
  options.timeout = std::chrono::seconds(60);  // ends a rank that waits after all
  test::with_world(2, options, [&](Communicator& comm) {
    const std::vector<int> in(4, comm.rank() + 1);
    std::vector<int> out(4);
    comm.barrier();  // all is connected
    for (int call = 0; call < 20; ++call) {
      if (comm.rank() != early.rank) calls_done.wait(call, std::memory_order_acquire);
      test::make_call(comm,
                      test::Case{.call = {.collective = early.collective, .type = DataType::int32},
                                 .counts = {4, 0}},
                      in.data(), out.data());
      if (comm.rank() != early.rank) continue;
      calls_done.store(call + 1, std::memory_order_release);
      calls_done.notify_one();
    }
  });
  CHECK(calls_done.load(std::memory_order_relaxed) == 20);
}

}  // namespace
}  // namespace rondo
