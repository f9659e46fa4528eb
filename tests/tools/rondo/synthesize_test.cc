// rondo synthesize: packings and their bound against brute force; every schedule it makes against the
// verifier; what it finds against rondo's own; the text that programs read.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/schedule/script.h"
#include "core/schedule/verify.h"
#include "core/topology/cabling.h"
#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/program.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/synthesize/bound.h"
#include "tools/rondo/synthesize/packing.h"
#include "tools/rondo/synthesize/search.h"
#include "tools/rondo/synthesize/text.h"
#include "tools/rondo/synthesize/weave.h"

using namespace rondo;
using namespace rondo::tool;

namespace {

using enum Collective;

constexpr Collective by_trees[] = {all_reduce, reduce_scatter, all_gather, broadcast,
                                   Collective::reduce};

/// One rank on each host, and cables of 1 GB/s between them.
Topology cabled(int hosts, const std::vector<std::pair<int, int>>& pairs) {
  Topology topology = on_hosts(std::vector<int>(at(hosts), 1), Numbering::by_host);
  topology.fabric.kind = FabricKind::cables;
  for (const auto& [one, other] : pairs) topology.fabric.cables.push_back({one, other, 1e-9});
  topology.hosts.resize(at(hosts));
  set_cabled_ports(topology);
  return topology;
}

/// All pairs of four hosts but one.
Topology missing_link() { return cabled(4, {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}); }

/// A switch, and one host's port has half the speed.
Topology slow_port() {
  Topology topology = on_hosts({1, 1, 1, 1}, Numbering::by_host);
  for (const double beta : {1e-9, 1e-9, 2e-9, 1e-9})
    topology.hosts.push_back({.ports = {{.name = "p", .beta = beta}}});
  return topology;
}

std::vector<Topology> topologies() {
  return {missing_link(),
          slow_port(),
          on_hosts({3, 5}, Numbering::by_host),
          on_hosts({2, 1, 2}, Numbering::in_turn),
          on_hosts({1, 1}, Numbering::by_host),
          on_hosts({3}, Numbering::by_host)};
}

/// The least capacity in bytes a second by which the root's side of any cut reaches the others.
double least_cut(const Topology& topology, int root) {
  double least = 1e30;
  for (unsigned side = 0; side < 1U << topology.ranks; ++side) {
    if ((side >> root & 1U) == 0 || side + 1 == 1U << topology.ranks) continue;
    double capacity = 0;
    for (const Cable& cable : topology.fabric.cables)
      if ((side >> cable.one & 1U) != (side >> cable.other & 1U)) capacity += 1 / cable.beta;
    least = std::min(least, capacity);
  }
  return least;
}

Schedule woven(Collective collective, const Topology& topology, int root, int pieces, double haste,
               const Weave& how) {
  const Network network(topology);
  const std::vector<Demand> demands = demands_of(collective, topology.ranks, root);
  const Packing packing = pack(network, demands, {pieces, haste, 1e6});
  return weave(collective, root, network, demands, packing, 1e6, how);
}

/// Seconds of a call from the slowest root, by the fastest of rondo's own.
double best_of_own(Collective collective, const Topology& topology, double bytes) {
  const Network network(topology);
  double best = 1e30;
  for (const Composition& row : compositions_by_name(collective, "", topology)) {
    double slowest = 0;
    for (int root = 0; root < (info(collective).has_root ? topology.ranks : 1); ++root)
      slowest = std::max(slowest, seconds_in_loop(row.build(topology, root), bytes, topology,
                                                  network, looped_calls));
    best = std::min(best, slowest);
  }
  return best;
}

test::Run run_rondo(const std::string& arguments) {
  return test::run_command("'" RONDO_PROGRAM "' synthesize " + arguments);
}

}  // namespace

TEST_CASE("the bound is what the least cut lets through, and no packing is below it") {
  const std::vector<Topology> all{missing_link(), cabled(3, {{0, 1}, {1, 2}}),
                                  cabled(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}),
                                  cabled(5, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {2, 4}})};
  for (const Topology& topology : all) {
    const Network network(topology);
    for (int root = 0; root < topology.ranks; ++root) {
      const auto demands = demands_of(broadcast, topology.ranks, root);
      const double exact = 1 / least_cut(topology, root);
      const double bound = bound_of_trees(network, demands).at_least;
      CAPTURE(topology.ranks, root);
      CHECK(bound <= exact * 1.000001);
      CHECK(bound >= exact * 0.97);
      CHECK(bound_of_trees(network, demands).reached >= exact * 0.999999);
      for (const int pieces : {1, 2, 5}) {
        const Packing packing = pack(network, demands, {.pieces = pieces});
        CHECK(packing.seconds_a_byte >= bound * 0.999999);
      }
    }
  }
}

TEST_CASE("the bound is near what ports make of it, also for many ranks") {
  struct Row {
    Collective collective;
    int ranks;
    double slow;   ///< how many times as long host 3's port takes
    double exact;  ///< seconds a byte, at 1 GB/s
  };
  const auto blocks = [](int ranks, double slow) { return (ranks - 1.0) / ranks * slow * 1e-9; };
  const auto sums = [](int ranks) { return 2 * (ranks - 1.0) / ranks * 1e-9; };
  std::vector<Row> rows{{all_gather, 16, 1, blocks(16, 1)},
                        {all_gather, 16, 4, blocks(16, 4)},
                        {reduce_scatter, 16, 2, blocks(16, 2)},
                        {all_reduce, 16, 1, sums(16)},
                        {all_reduce, 16, 4, 4e-9}};
  if (!test::is_sanitized)
    rows.insert(rows.end(), {{all_gather, 32, 1, blocks(32, 1)},
                             {all_gather, 64, 4, blocks(64, 4)},
                             {all_reduce, 64, 4, 4e-9}});
  for (const Row& row : rows) {
    Topology topology = on_hosts(std::vector<int>(at(row.ranks), 1), Numbering::by_host);
    topology.hosts.assign(at(row.ranks), {.ports = {{.beta = 1e-9}}});
    topology.hosts[3].ports[0].beta *= row.slow;
    const Bound bound = bound_of_trees(Network(topology), demands_of(row.collective, row.ranks, 0));
    CAPTURE(name(row.collective), row.ranks, row.slow, bound.at_least, bound.reached, row.exact);
    CHECK(bound.at_least <= row.exact * 1.000001);
    CHECK(bound.at_least >= row.exact * 0.93);
    CHECK(bound.reached >= row.exact * 0.999999);
  }
}

TEST_CASE("packings reach the bound where pieces can") {
  struct Row {
    Topology topology;
    Collective collective;
    int pieces;
  };
  const std::vector<Row> rows{{missing_link(), all_reduce, 5},
                              {missing_link(), broadcast, 2},
                              {slow_port(), all_reduce, 4},
                              {on_hosts({3, 5}, Numbering::by_host), all_gather, 1},
                              {cabled(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), all_reduce, 4}};
  for (const Row& row : rows) {
    const Network network(row.topology);
    const auto demands = demands_of(row.collective, row.topology.ranks, 0);
    const double bound = bound_of_trees(network, demands).at_least;
    CAPTURE(name(row.collective), row.topology.ranks, row.pieces);
    CHECK(pack(network, demands, {.pieces = row.pieces}).seconds_a_byte <= bound * 1.03);
  }
}

TEST_CASE("whatever is woven is right") {
  const std::vector<Weave> ways = test::is_sanitized
                                      ? std::vector<Weave>{{2}, {1, true}}
                                      : std::vector<Weave>{{1}, {3}, {15}, {1, true}, {4, true}};
  for (const Topology& topology : topologies()) {
    for (const Collective collective : by_trees) {
      const bool up = demands_of(collective, topology.ranks, 0).front().direction == Direction::up;
      for (const int pieces : {1, 2, 5}) {
        for (const double haste : {0.0, 1.0, 100.0}) {
          for (const Weave& how : ways) {
            if (how.mirrored && !up) continue;
            for (int root = 0; root < (info(collective).has_root ? topology.ranks : 1); ++root) {
              const Schedule schedule = woven(collective, topology, root, pieces, haste, how);
              const Report report = verify(schedule);
              CAPTURE(name(collective), topology.ranks, pieces, haste, how.lanes, how.mirrored);
              REQUIRE(report.findings == std::vector<std::string>{});
              CHECK(report.exact);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a wrong packing makes a wrong schedule, and the verifier says so") {
  const Topology topology = missing_link();
  const Network network(topology);
  const auto demands = demands_of(broadcast, topology.ranks, 0);
  Packing packing = pack(network, demands, {.pieces = 2});
  packing.trees[1].parent = {-1, 0, 0, -1};  // rank 3 gets nothing of the second piece
  CHECK_FALSE(verify(weave(broadcast, 0, network, demands, packing, 1e6, {})).ok());
}

TEST_CASE("speeds that are worlds apart do no harm") {
  Topology slow_memory = on_hosts({3}, Numbering::by_host);
  slow_memory.memory = {0, 1e20};
  Topology star = missing_link();
  star.fabric.cables[0].beta = 8e-30;
  star.fabric.cables[3].beta = 8;
  for (const Topology& topology : {slow_memory, star}) {
    const Network network(topology);
    for (const Collective collective : by_trees) {
      for (const double haste : {0.0, 1.0})
        CHECK(verify(woven(collective, topology, 0, 3, haste, {2})).ok());
      const Bound bound = bound_of_trees(network, demands_of(collective, topology.ranks, 0));
      CHECK(bound.at_least > 0);
      CHECK(bound.at_least <= bound.reached * 1.000001);
    }
  }
}

TEST_CASE("collectives that go by no trees have no demands") {
  for (const Collective collective : {all_to_all, scatter, gather, barrier, send_recv})
    CHECK(demands_of(collective, 4, 0).empty());
}

TEST_CASE("on uneven networks the search beats rondo's own, and never the bound") {
  struct Row {
    Topology topology;
    Collective collective;
    double gain;
  };
  const std::vector<Row> rows{
      {missing_link(), all_reduce, 1.4},         {missing_link(), all_gather, 1.25},
      {missing_link(), reduce_scatter, 1.25},    {missing_link(), broadcast, 1.9},
      {missing_link(), Collective::reduce, 1.8}, {slow_port(), all_reduce, 1.4}};
  constexpr double bytes = 1 << 20;
  for (const Row& row : rows) {
    if (test::is_sanitized && row.collective != broadcast) continue;
    const int root = info(row.collective).has_root ? 2 : 0;
    const Network network(row.topology);
    const Synthesized found = synthesize({row.collective, root, bytes}, row.topology, network);
    const double seconds =
        seconds_in_loop(found.schedule, bytes, row.topology, network, looped_calls);
    const double bound =
        bytes * bound_of_trees(network, demands_of(row.collective, 4, root)).at_least;
    CAPTURE(name(row.collective), seconds, bound);
    CHECK(verify(found.schedule).ok());
    CHECK(best_of_own(row.collective, row.topology, bytes) >= row.gain * seconds);
    CHECK(seconds >= bound);
    CHECK(seconds <= 1.2 * bound);  // a 2 % low bound, and alpha counts in such short calls
  }
}

TEST_CASE("the search finds the same again, and keeps the pieces that it is told") {
  const Topology topology = slow_port();
  const Network network(topology);
  const SearchInput input{all_reduce, 0, 1e5, 3};
  const Synthesized one = synthesize(input, topology, network);
  const Synthesized other = synthesize(input, topology, network);
  CHECK(one.schedule.layout.parts == 3);
  CHECK(one.tried == other.tried);
  CHECK(synthesized_text({one.schedule}, topology, {.name = "x"}) ==
        synthesized_text({other.schedule}, topology, {.name = "x"}));
}

TEST_CASE("the text serves these hosts alone, and every root") {
  for (const Topology& topology : topologies()) {
    std::vector<Schedule> by_root;
    for (int root = 0; root < topology.ranks; ++root)
      by_root.push_back(woven(broadcast, topology, root, 2, 0, {1 + root % 2}));
    const std::string text = synthesized_text(by_root, topology, {{"a comment"}, "mine", "64..4K"});
    const Script script = parse_script(text);
    CHECK(script.algorithm() == "mine");
    CHECK(script.for_any_root());
    CHECK(script.for_bytes(4096));
    CHECK_FALSE(script.for_bytes(63));
    CHECK(script.unfit(topology).empty());
    CHECK_FALSE(script.unfit(on_hosts({4, topology.ranks}, Numbering::by_host)).empty());
    CHECK(script.unfit(on_hosts(std::vector<int>(at(topology.ranks), 1), Numbering::by_host))
              .empty() == (Hosts(topology).largest() == 1));
    if (topology.ranks > 2)
      CHECK_FALSE(script.unfit(on_hosts({1, topology.ranks - 1}, Numbering::in_turn)).empty());
    for (int root = 0; root < topology.ranks; ++root)
      CHECK(script.build_right(topology, root).root == root);
    const Schedule one = woven(Collective::reduce, topology, 1, 2, 0, {1});
    CHECK(parse_script(synthesized_text({one}, topology, {.name = "r"})).only_root(topology) == 1);
  }
}

TEST_CASE("rondo synthesize writes what other commands read") {
  const std::string path = RONDO_TEST_FOLDER "/synthesized.schedule";
  const test::Run run = run_rondo("broadcast --hosts 2+1 -b 64K --name mine -o '" + path + "'");
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(run.says("broadcast, 3 ranks, N = 64 KiB"));
  CHECK(run.says("best of rondo's own: "));
  CHECK(run.says("bound of trees"));
  CHECK(run.says("verified, and written to " + path));
  const test::Run simulated = test::run_command(
      "'" RONDO_PROGRAM "' simulate broadcast --loop -b 64K --hosts 2+1 --root 1 --file '" + path +
      "'");
  CAPTURE(simulated.output);
  CHECK(simulated.status == 0);
  CHECK(simulated.says("  mine "));
  // Where it is faster, it says for which calls.
  const test::Run faster =
      run_rondo("broadcast --topology '" MISSING_CABLE "' -b 1M -o '" + path + "'");
  CAPTURE(faster.output);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const Script script = parse_script(text.str());
  CHECK(faster.says("for calls of "));
  CHECK(script.for_bytes(1 << 20));
  CHECK(script.for_bytes(1 << 28));
  CHECK_FALSE(script.for_bytes(8));
  // For one root, no call takes it.
  const test::Run one = run_rondo("reduce --hosts 2+1 --root 1 -b 64K -o '" + path + "'");
  CAPTURE(one.output);
  CHECK(one.says("for tools"));
  CHECK_FALSE(one.says("RONDO_SCHEDULES"));
  std::remove(path.c_str());
  const test::Run alone = run_rondo("all_gather --hosts 2x1");
  CAPTURE(alone.output);
  CHECK(alone.says("; rondo's own is at least as fast"));
}

TEST_CASE("what cannot be synthesized is refused with the remedy") {
  const auto refused = [](const std::string& arguments, const std::string& words) {
    const test::Run run = run_rondo(arguments);
    CAPTURE(arguments, run.output);
    CHECK(run.status == 2);
    CHECK(run.says(words));
  };
  refused("all_reduce", "--hosts 3+5, or --topology FILE");
  refused("all_to_all --hosts 2x2", "all_to_all goes by no trees");
  refused("all_reduce --hosts 65x1", "2 to 64");
  refused("all_reduce --hosts 1", "2 to 64");
  refused("broadcast --hosts 17x1", "--root R for one of them");
  refused("sing --hosts 2x2", "sing");
  refused("all_reduce --hosts 2x2 --root 1", "all_reduce has no root");
  refused("broadcast --hosts 2x2 --root 4", "root");
  refused("all_reduce --hosts 2x2 --name ring",
          "--name has the name of a built-in algorithm, ring");
  refused("all_reduce --hosts 2x2 --name 'two words'", "'two words' (--name) is no name");
  refused("all_reduce --hosts 2x2 -b 0", "calls of no bytes");
  refused("all_reduce --hosts 2x2 -b lots", "lots");
  refused("all_reduce --hosts 2x2 -o /no/such/folder/x",
          "cannot write '/no/such/folder/x' (--output)");
  refused("all_reduce --topology /no/such/file", "/no/such/file");
}
