// Hierarchical compositions: the verifier accepts each for every mixture of hosts.
#include <set>

#include "algorithms/composition.h"
#include "core/schedule/simulate.h"
#include "core/schedule/verify.h"
#include "core/topology/generate.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"

using namespace rondo;

namespace {

const std::vector<std::vector<int>> mixtures{
    {1}, {4}, {1, 1, 1}, {2, 2}, {3, 5}, {1, 7}, {2, 2, 1}, {4, 1, 3}, {3, 3, 3}, {1, 2, 3, 4, 1}};

/// Chunks in the longest message of all ranks.
int longest(const Schedule& schedule) {
  std::uint32_t most = 1;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next())
        if (step->kind == StepKind::send) most = std::max(most, step->from.count);
    }
  }
  return static_cast<int>(most);
}

void require_verified(const Composition& composition, const Topology& topology) {
  const CollectiveInfo& what = info(composition.across->collective);
  for (int root = 0; root < (what.has_root ? topology.ranks : 1); ++root) {
    const Report report = verify(composition.build(topology, root));
    CAPTURE(what.name, composition.name(), topology.host, topology.port, root, report.findings);
    REQUIRE(report.ok());
    REQUIRE(report.order_agrees);
  }
}

/// Ranks of each host on so many sockets: the first ones on the first socket, or dealt out in turn.
Topology with_sockets(Topology topology, int sockets, bool in_turn) {
  set_sockets(topology, sockets);
  const Hosts hosts(topology);
  for (int rank = 0; in_turn && rank < topology.ranks; ++rank)
    topology.socket[static_cast<std::size_t>(rank)] = hosts.index_of(rank) % sockets;
  return topology;
}

/// Of one host's ranks on two sockets: chunks that go from the first socket to the second one.
int crossing(Collective collective, std::string_view algorithm, int ranks) {
  const Topology topology = with_sockets(on_hosts({ranks}, Numbering::by_host), 2, false);
  const Schedule schedule = find_composition(collective, algorithm).build(topology, 0);
  int sent = 0;
  for (int rank = 0; rank < ranks / 2; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    while (const Step* step = steps.next())
      if (step->kind == StepKind::send && step->peer >= ranks / 2)
        sent += static_cast<int>(step->from.count);
  }
  return sent;
}

/// Two hosts of 4 ranks: how much each rank sends to the other host.
std::vector<std::uint32_t> sent_across(Collective collective, std::string_view algorithm,
                                       const Topology& topology, int root) {
  const Schedule schedule = find_composition(collective, algorithm).build(topology, root);
  std::vector<std::uint32_t> sent(8);
  for (int rank = 0; rank < 8; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    while (const Step* step = steps.next())
      if (step->kind == StepKind::send && step->peer / 4 != rank / 4)
        sent[static_cast<std::size_t>(rank)] += step->from.count;
  }
  return sent;
}

}  // namespace

TEST_CASE("the verifier accepts every composition for every mixture of hosts and any root") {
  for (const CollectiveInfo& each : collectives) {
    for (const Composition& composition : hierarchical_compositions(each.collective)) {
      for (const std::vector<int>& sizes : mixtures) {
        for (const Numbering numbering : {Numbering::by_host, Numbering::in_turn}) {
          require_verified(composition, on_hosts(sizes, numbering));
          if (composition.across->cut.passed_on)
            for (const int ports : {2, 3})
              require_verified(composition, on_hosts(sizes, numbering, ports));
        }
        if (!composition.across->cut.passed_on) continue;
        // Unlike numbers of ports, and the first ranks of each host at the last one.
        Topology topology = on_hosts(sizes, Numbering::by_host, 3);
        topology.hosts.back().ports.resize(2);
        for (int rank = 0; rank < topology.ranks; ++rank)
          topology.port.push_back(rank % 3 == 0 ? 1 : 0);
        require_verified(composition, topology);
      }
    }
  }
}

TEST_CASE("the verifier accepts three levels for every mixture of hosts and sockets and any root") {
  for (const CollectiveInfo& each : collectives) {
    const auto& all = hierarchical_compositions(each.collective, Levels::three);
    const bool blocks = each.collective == Collective::gather ||
                        each.collective == Collective::scatter ||
                        each.collective == Collective::all_to_all;
    CHECK(all.empty() == (blocks || hierarchical_compositions(each.collective).empty()));
    for (const Composition& composition : all) {
      for (const std::vector<int>& sizes : test::cells(mixtures, {{3, 5}})) {
        const Topology topology = on_hosts(sizes, Numbering::by_host);
        require_verified(composition, topology);
        require_verified(composition, with_sockets(topology, 2, false));
        Topology unbound = with_sockets(topology, 2, false);  // of one host nothing is known
        unbound.socket.back() = -1;
        require_verified(composition, unbound);
        require_verified(composition,
                         with_sockets(on_hosts(sizes, Numbering::in_turn, 2), 3, true));
      }
    }
  }
}

TEST_CASE("with three levels a vector crosses from socket to socket once, however many ranks") {
  for (const int ranks : {4, 8, 16}) {
    CAPTURE(ranks);
    // Of an all_reduce's shares, half are owned on either socket: sums cross, then the copies back.
    const auto all_reduce = [&](const char* algorithm) {
      return crossing(Collective::all_reduce, algorithm, ranks);
    };
    CHECK(all_reduce("hierarchical(one_shot,one_shot,ring)") == ranks);
    CHECK(all_reduce("hierarchical(chain,binomial_tree,ring)") == ranks);
    CHECK(all_reduce("hierarchical(one_shot,ring)") == ranks * ranks / 2);
    CHECK(crossing(Collective::broadcast, "hierarchical(one_shot,one_shot,chain)", ranks) == 1);
    CHECK(crossing(Collective::broadcast, "hierarchical(one_shot,chain)", ranks) == ranks / 2);
  }
}

TEST_CASE("ranks that are roots in turn share what crosses between sockets") {
  const Topology topology = with_sockets(on_hosts({8}, Numbering::by_host), 2, false);
  const Schedule schedule =
      find_composition(Collective::all_reduce, "hierarchical(one_shot,one_shot,ring)")
          .build(topology, 0);
  for (int rank = 0; rank < 8; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    int sent = 0;
    while (const Step* step = steps.next())
      if (step->kind == StepKind::send && step->peer / 4 != rank / 4)
        sent += static_cast<int>(step->from.count);
    CHECK(sent == 2);  // one sum, and one copy
  }
}

TEST_CASE("three levels are predicted faster where the links between sockets are slow") {
  Topology topology = with_sockets(on_hosts({16, 16}, Numbering::by_host, 1), 2, false);
  for (Host& host : topology.hosts) host.ports.front().beta = 1e-12;
  const auto seconds = [&](const char* algorithm) {
    const Schedule schedule =
        find_composition(Collective::all_reduce, algorithm).build(topology, 0);
    return simulate(schedule, 1e6, {}, topology).busiest().seconds;
  };
  const auto two_levels = [&] { return seconds("hierarchical(one_shot,ring)"); };
  const auto three_levels = [&] { return seconds("hierarchical(one_shot,one_shot,ring)"); };
  topology.socket_beta = 2e-9;
  CHECK(three_levels() * 3 < two_levels());
  topology.socket_beta = 0;  // sockets do not matter
  CHECK(three_levels() < two_levels() * 1.5);
}

TEST_CASE("what is passed on goes by as many ranks of a host as it has ports") {
  using Sent = std::vector<std::uint32_t>;
  const auto broadcast = [](int ports) {
    return sent_across(Collective::broadcast, "hierarchical(one_shot,chain)",
                       on_hosts({4, 4}, Numbering::by_host, ports), 1);
  };
  CHECK(broadcast(1) == Sent{0, 1, 0, 0, 0, 0, 0, 0});
  CHECK(broadcast(2) == Sent{1, 1, 0, 0, 0, 0, 0, 0});
  CHECK(broadcast(9) == Sent{1, 1, 1, 1, 0, 0, 0, 0});
  const Topology two = on_hosts({4, 4}, Numbering::by_host, 2);
  CHECK(sent_across(Collective::reduce, "hierarchical(one_shot,chain)", two, 3) ==
        Sent{0, 0, 0, 0, 1, 1, 0, 0});
  CHECK(sent_across(Collective::all_reduce, "hierarchical(one_shot,chain)", two, 0) ==
        Sent{1, 1, 0, 0, 1, 1, 0, 0});
  // Where ranks 0 and 1 of a host use port 0, and 2 and 3 the other one.
  Topology near = on_hosts({4, 4}, Numbering::by_host, 2);
  near.port = {0, 0, 1, 1, 0, 0, 1, 1};
  CHECK(sent_across(Collective::broadcast, "hierarchical(one_shot,chain)", near, 1) ==
        Sent{0, 1, 1, 0, 0, 0, 0, 0});
  // Few hops, one message a host: no shares.
  CHECK(sent_across(Collective::broadcast, "hierarchical(one_shot,binomial_tree)", two, 1) ==
        Sent{0, 1, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("the longest message is found without a look at every rank") {
  for (const Algorithm& row : algorithms()) {
    for (int ranks = 1; ranks <= 40; ++ranks) {
      for (int root = 0; root < (info(row.collective).has_root ? ranks : 1); ++root) {
        CAPTURE(name(row.collective), row.name, ranks, root);
        REQUIRE(row.longest_message(ranks, root) == longest(row.build(ranks, root)));
      }
    }
  }
  for (const CollectiveInfo& each : collectives) {
    for (const Composition& composition : hierarchical_compositions(each.collective)) {
      for (const std::vector<int>& sizes : mixtures) {
        const Topology topology = on_hosts(sizes, Numbering::in_turn);
        CAPTURE(each.name, composition.name(), sizes);
        REQUIRE(composition.longest_message(topology, 0) >=
                longest(composition.build(topology, 0)));
      }
    }
  }
}

TEST_CASE("the rows that say so send several blocks in a message, and no others") {
  constexpr int ranks = 6;
  for (const Algorithm& row : algorithms()) {
    if (is_vector(row.collective)) continue;
    CAPTURE(name(row.collective), row.name);
    CHECK(row.cut.bundled == (longest(row.build(ranks, 0)) > 1));
  }
}

TEST_CASE(
    "by all_to_all a rank sends one message to each rank of another host that has its number") {
  const Topology topology = on_hosts({4, 4, 4}, Numbering::by_host);
  const Hosts hosts(topology);
  const Schedule schedule =
      find_composition(Collective::all_to_all, "hierarchical(linear,linear)").build(topology, 0);
  for (int rank = 0; rank < topology.ranks; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    int messages = 0;
    while (const Step* step = steps.next()) {
      if (step->kind != StepKind::send || hosts.host_of(step->peer) == hosts.host_of(rank))
        continue;
      CHECK(step->from.count == 4);
      CHECK(hosts.index_of(step->peer) == hosts.index_of(rank));
      ++messages;
    }
    CHECK(messages == 2);
  }
}

TEST_CASE("a composition is found by its name, and by no other") {
  for (const CollectiveInfo& each : collectives) {
    std::set<std::string> names;
    for (const Levels levels : {Levels::two, Levels::three}) {
      for (const Composition& composition : hierarchical_compositions(each.collective, levels)) {
        CHECK(find_composition(each.collective, composition.name()) == composition);
        CHECK(names.insert(composition.name()).second);
      }
    }
  }
  CHECK(find_composition(Collective::all_reduce, "ring").inside.empty());
  for (const char* name : {"hierarchical", "hierarchical(ring)", "hierarchical(two_shot,ring)",
                           "hierarchical(ring,pairwise)", "hierarchical(ring,ring))",
                           "hierarchical(two_shot,ring,ring)", "hierarchical(ring,ring,ring,ring)"})
    CHECK_FALSE(find_composition(Collective::all_reduce, name));
}

TEST_CASE("a host sends each byte of an all_reduce once") {
  const Topology topology = on_hosts({4, 4}, Numbering::by_host);
  const Hosts hosts(topology);
  const Schedule schedule =
      find_composition(Collective::all_reduce, "hierarchical(one_shot,ring)").build(topology, 0);
  std::vector<int> sent(8);
  for (int rank = 0; rank < 8; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    while (const Step* step = steps.next())
      if (step->kind == StepKind::send && hosts.host_of(step->peer) != hosts.host_of(rank))
        sent[static_cast<std::size_t>(rank)] += static_cast<int>(step->from.count);
  }
  // Of 8 chunks: 2(H-1)/H N, the same for each of the host's ranks.
  CHECK(sent == std::vector<int>(8, 2));
}
