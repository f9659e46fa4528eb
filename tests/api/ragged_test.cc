// Blocks that differ in size: every algorithm of the collectives that have blocks, and the direct
// path, against the reference.
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include "algorithms/table.h"
#include "core/base/config.h"
#include "core/settings/settings.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"
#include "transports/table.h"

namespace rondo {
namespace {

using test::Case;
using test::has_blocks;
using test::in_rank_order;
using test::Trial;
using Sizes = std::vector<std::size_t>;

/// Slots so small that even these tests' sizes need many passes.
constexpr const char* small_slots = "4096";

std::vector<Sizes> patterns(int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  std::mt19937 random(31);
  Sizes one_empty(size, 300);
  one_empty[size / 2] = 0;
  Sizes one_has_all(size, 0);
  one_has_all[size - 1] = 9001;
  Sizes ramp(size);
  std::iota(ramp.begin(), ramp.end(), 5);
  Sizes huge(size, 1);
  huge[size / 3] = 40011;
  Sizes mixed(size);
  for (std::size_t& count : mixed) count = random() % 3 == 0 ? 0 : random() % 5000;
  return {Sizes(size, 300), Sizes(size, 0), one_empty, one_has_all, ramp, huge, mixed};
}

/// Types and operators take turns, so that each has some pattern.
std::vector<Case> cases_of(Collective collective, int ranks) {
  std::vector<Case> cases;
  std::size_t turn = static_cast<std::size_t>(ranks);
  for (const Sizes& counts : patterns(ranks)) {
    for (const bool in_place : {false, true}) {
      const int root = static_cast<int>(turn) % ranks;
      const DataType type = data_types[turn % data_types.size()].type;
      // Each path may scale floats where it does so best, so their averages differ in rounding.
      const bool integer = type <= DataType::uint64;
      const Call call{
          .collective = collective,
          .type = type,
          .op = std::array{ReduceOperator::sum, ReduceOperator::max,
                           integer ? ReduceOperator::avg : ReduceOperator::min}[turn % 3],
          .root = info(collective).has_root ? root : 0};
      cases.push_back({call, counts, in_place});
      ++turn;
    }
  }
  return cases;
}

/// `row`: the row whose order of adding the results have.
void check_cases(const Algorithm& row, int ranks, const Options& options) {
  std::vector<Trial> trials;
  for (const Case& each : cases_of(row.collective, ranks))
    trials.emplace_back(each, row.build(ranks, each.call.root));
  INFO(options.algorithm << " over " << options.transport);
  test::with_world(ranks, options, [&](Communicator& comm) { test::make_calls(comm, trials); });
}

Options forcing(Collective collective, std::string_view algorithm, std::string_view transport) {
  return {.transport = std::string(transport),
          .algorithm = std::string(name(collective)) + ":" + std::string(algorithm)};
}

TEST_CASE("ragged blocks: every algorithm") {
  ::setenv("RONDO_SLOT_BYTES", small_slots, 1);
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : test::cells<int>({1, 2, 3, 4, 5, 6, 8}, {4, 5})) {
      if (has_blocks(row.collective))
        check_cases(row, ranks, forcing(row.collective, row.name, "local"));
    }
  }
}

TEST_CASE("ragged blocks: every transport") {
  ::setenv("RONDO_SLOT_BYTES", small_slots, 1);
  const HostInfo here = describe_host(read_config());
  for (const TransportKind& kind : transport_kinds()) {
    if (const std::string obstacle = kind.obstacle(here, here); !obstacle.empty()) {
      WARN(kind.name << " is left out: " << obstacle);
      continue;
    }
    for (const Algorithm& row : algorithms()) {
      if (has_blocks(row.collective))
        check_cases(row, 3, forcing(row.collective, row.name, kind.name));
    }
  }
}

TEST_CASE("ragged blocks: the direct path and the default choice") {
  ::unsetenv("RONDO_SLOT_BYTES");
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                      Collective::gather, Collective::scatter}) {
    for (const int ranks : {2, 3, 5}) {
      check_cases(in_rank_order(collective), ranks, forcing(collective, "direct", "local"));
      check_cases(in_rank_order(collective), ranks, forcing(collective, "direct", "shm"));
      if (collective != Collective::reduce_scatter)
        check_cases(in_rank_order(collective), ranks, {.transport = "shm"});
    }
  }
}

TEST_CASE("ragged blocks in memory that peers reach, by the default choice") {
  ::unsetenv("RONDO_SLOT_BYTES");
  std::vector<Trial> trials;
  for (const Sizes& counts : {Sizes{0, 70'000, 3}, Sizes{100'000, 99'999, 1}}) {
    for (const auto collective : {Collective::all_gather, Collective::reduce_scatter}) {
      for (unsigned repeat = 0; repeat < 3; ++repeat)
        trials.emplace_back(Case{.call = {.collective = collective, .type = DataType::int32},
                                 .counts = counts,
                                 .in_place = true,
                                 .salt = repeat},
                            3);
    }
  }
  test::with_world(3, {.transport = "shm"}, [&](Communicator& comm) {
    const Memory memory = allocate(1'000'000);
    for (const Trial& trial : trials)
      trial.run_in(static_cast<std::byte*>(memory.data()), comm.rank(),
                   [&](const void* in, void* out) { make_call(comm, trial.given(), in, out); });
  });
}

TEST_CASE("a block a million times as large as another one") {
  ::unsetenv("RONDO_SLOT_BYTES");
  std::vector<Trial> trials;
  for (const auto collective : {Collective::all_gather, Collective::reduce_scatter})
    trials.emplace_back(Case{.call = {.collective = collective}, .counts = {1, 4'000'000, 3, 0}},
                        4);
  for (const char* const transport : {"local", "tcp"})
    test::with_world(4, {.transport = transport},
                     [&](Communicator& comm) { test::make_calls(comm, trials); });
}

TEST_CASE("a ragged call with equal counts matches the ordinary call of another rank") {
  test::with_world(3, {}, [](Communicator& comm) {
    const std::vector<int> mine(5, comm.rank());
    std::vector<int> all(15);
    if (comm.rank() == 1) {
      comm.all_gather(mine.data(), all.data(), 5, DataType::int32);
    } else {
      comm.all_gather_v(mine.data(), all.data(), Sizes{5, 5, 5}, DataType::int32);
    }
    if (all[4] != 0 || all[5] != 1 || all[14] != 2) throw std::runtime_error("wrong block");
  });
}

TEST_CASE("ragged calls run together: asynchronously, and in groups") {
  std::vector<Trial> trials;
  for (unsigned i = 0; i < 12; ++i)
    trials.emplace_back(
        Case{.call = {.collective = Collective::all_gather, .type = DataType::int32},
             .counts = {i, 1000 * i, 7},
             .salt = i},
        3);
  test::with_world(3, {}, [&](Communicator& comm) {
    std::vector<Bytes> memories;
    for (const Trial& trial : trials) memories.push_back(trial.before(comm.rank()));
    std::vector<Work> works;
    Group group;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const std::byte* const in = memories[i].data() + trials[i].input(comm.rank());
      std::byte* const out = memories[i].data() + trials[i].output(comm.rank());
      const Sizes counts = trials[i].given().counts;  // needed no longer than the call
      if (i % 2 == 0) {
        works.push_back(comm.all_gather_v_async(in, out, counts, DataType::int32));
      } else {
        comm.all_gather_v(in, out, counts, DataType::int32);
      }
    }
    group.wait();
    for (Work& work : works) work.wait();
    for (std::size_t i = 0; i < trials.size(); ++i)
      trials[i].check(comm.rank(), memories[i].data());
  });
}

}  // namespace
}  // namespace rondo
