// Routes by fabric, and what the simulator's clock says where ranks share links.
#include "core/topology/routes.h"

#include <cmath>
#include <set>

#include "core/base/archive.h"
#include "core/schedule/simulate.h"
#include "core/topology/cabling.h"
#include "core/topology/generate.h"
#include "core/topology/ports.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;
using handmade::listed;
using handmade::Lists;

namespace {

constexpr double port_beta = 1e-9;
constexpr double alpha = 1e-5;
constexpr double bytes = 1e6;

/// Hosts of so many ranks and ports.
Topology cluster(int hosts, int ranks, int ports, const Fabric& fabric = {}) {
  Topology topology =
      on_hosts(std::vector<int>(static_cast<std::size_t>(hosts), ranks), Numbering::by_host);
  Host host;
  for (int port = 0; port < ports; ++port)
    host.ports.push_back({.name = "p" + std::to_string(port), .beta = port_beta});
  topology.hosts.assign(static_cast<std::size_t>(hosts), host);
  topology.fabric = fabric;
  topology.network_alpha = alpha;
  topology.memory = {.alpha = 1e-6, .beta = 1e-10};
  return topology;
}

std::vector<int> route(const Topology& topology, int from, int to) {
  std::vector<int> links;
  Routes(topology).between(from, to, links);
  return links;
}

/// Each of these ranks sends one whole vector to a peer.
Schedule sends(int ranks, const std::vector<std::pair<int, int>>& messages) {
  Lists steps(static_cast<std::size_t>(ranks));
  for (const auto& [from, to] : messages) {
    steps[static_cast<std::size_t>(from)].push_back(send(to, input(0)));
    steps[static_cast<std::size_t>(to)].push_back(receive(from, scratch(0, 0, 1)));
  }
  return listed(Collective::all_reduce, 1, steps);
}

double seconds(const Topology& topology, const std::vector<std::pair<int, int>>& messages) {
  return simulate(sends(topology.ranks, messages), bytes, {}, topology).busiest().seconds;
}

}  // namespace

TEST_CASE("ranks of a host share its ports in turn") {
  const Topology topology = cluster(2, 4, 2);
  CHECK(route(topology, 0, 4).front() == route(topology, 2, 6).front());
  CHECK(route(topology, 0, 4).front() != route(topology, 1, 5).front());
  CHECK(route(topology, 0, 4).size() == 2);
  CHECK(route(topology, 0, 4).front() != route(topology, 4, 0).back());  // out and in are apart
}

TEST_CASE("what fabrics add to a route") {
  struct Row {
    FabricKind kind;
    int to;
    std::size_t links;
  };
  const std::vector<Row> rows{
      {FabricKind::one_switch, 6, 2},     {FabricKind::fat_tree, 2, 2},
      {FabricKind::fat_tree, 4, 4},       {FabricKind::rail_optimised, 6, 2},
      {FabricKind::rail_optimised, 7, 4}, {FabricKind::dragonfly, 2, 2},
      {FabricKind::dragonfly, 4, 3}};
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.kind), row.to);
    const Topology topology = cluster(4, 2, 2, {.kind = row.kind, .group = 2, .beta = port_beta});
    CHECK(route(topology, 0, row.to).size() == row.links);
  }
}

TEST_CASE("a torus takes the shorter way round each dimension, and visits every link once") {
  const std::vector<int> extents{4, 3};
  const Topology topology =
      cluster(12, 1, 1, {.kind = FabricKind::torus, .beta = port_beta, .extents = extents});
  for (int from = 0; from < 12; ++from) {
    for (int to = 0; to < 12; ++to) {
      if (from == to) continue;
      const auto hops = [](int one, int other, int extent) {
        const int ahead = (other - one + extent) % extent;
        return std::min(ahead, extent - ahead);
      };
      const int wanted = hops(from % 4, to % 4, 4) + hops(from / 4, to / 4, 3);
      const std::vector<int> links = route(topology, from, to);
      CHECK(static_cast<int>(links.size()) == wanted + 2);
      CHECK(std::set(links.begin(), links.end()).size() == links.size());
    }
  }
}

TEST_CASE("cables: a message takes the fewest, and comes back the same way") {
  // 0 - 1 - 2 - 3, and 0 - 3: a ring of four.
  Topology topology = cluster(4, 1, 0);
  topology.fabric = {
      .kind = FabricKind::cables,
      .cables = {{0, 1, port_beta}, {1, 2, port_beta}, {2, 3, port_beta}, {3, 0, 2e-9}}};
  topology.hosts.assign(4, {});
  set_cabled_ports(topology);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const std::vector<int> there = route(topology, from, to);
      const std::vector<int> back = route(topology, to, from);
      const bool across = (from + to) % 2 == 0;
      REQUIRE(there.size() == (across ? 4 : 3));
      REQUIRE(back.size() == there.size());
      for (std::size_t at = 1; at + 1 < there.size(); ++at)
        CHECK((there[at] - 8) == ((back[back.size() - 1 - at] - 8) ^ 1));
    }
  }
  CHECK(seconds(topology, {{3, 0}}) == Approx(alpha + bytes * 2e-9));
  // Ports are as fast as all cables of a host.
  CHECK(seconds(topology, {{1, 0}, {1, 2}}) == Approx(alpha + 1.5 * bytes * port_beta));
}

TEST_CASE("cables join hosts by their numbers in the topology") {
  Topology topology = cluster(3, 1, 1);
  topology.host = {2, 0, 1};
  topology.fabric = {.kind = FabricKind::cables, .cables = {{0, 1, port_beta}, {1, 2, port_beta}}};
  CHECK(route(topology, 0, 2).size() == 3);  // hosts 2 and 1
  CHECK(route(topology, 0, 1).size() == 4);  // hosts 2 and 0
  topology.fabric.cables.pop_back();
  CHECK_THROWS_WITH(Routes(topology), Catch::Contains("no cables lead from host 0 to host 2"));
}

TEST_CASE("cables that leave a host out, or name none, are refused") {
  const auto wrong = [](const std::vector<Cable>& cables) {
    Topology topology = cluster(3, 1, 0);
    topology.fabric = {.kind = FabricKind::cables, .cables = cables};
    try {
      static_cast<void>(Routes(topology));
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(wrong({{0, 1, 1e-9}}) == "no cables lead from host 0 to host 2");
  CHECK(wrong({{0, 1, 1e-9}, {1, 3, 1e-9}}) == "a cable between hosts 1 and 3 of 3");
  CHECK(wrong({{0, 1, 1e-9}, {1, 1, 1e-9}}) == "a cable from a host to itself");
  CHECK(wrong({{0, 1, 1e-9}, {1, 0, 1e-9}}) == "two cables between hosts 1 and 0");
  CHECK(wrong({{0, 1, 1e-9}, {1, 2, 1e-9}}).empty());
}

TEST_CASE("a fabric that does not fit the hosts is refused") {
  CHECK_THROWS_AS(Routes(cluster(6, 1, 1, {.kind = FabricKind::torus, .extents = {2, 2}})), Error);
  CHECK_THROWS_AS(Routes(cluster(2, 1, 1, {.group = 0})), Error);
  CHECK_THROWS_AS(Routes(cluster(10'000, 1, 1, {.kind = FabricKind::dragonfly})), Error);
}

TEST_CASE("messages between hosts take turns on a port that they share") {
  const double once = alpha + bytes * port_beta;
  CHECK(seconds(cluster(2, 2, 1), {{0, 2}}) == Approx(once));
  CHECK(seconds(cluster(2, 2, 1), {{0, 2}, {1, 3}}) == Approx(once + bytes * port_beta));
  CHECK(seconds(cluster(2, 2, 2), {{0, 2}, {1, 3}}) == Approx(once));
  CHECK(seconds(cluster(2, 2, 1), {{0, 2}, {3, 1}}) == Approx(once));  // both ways at once
}

TEST_CASE("within a host, memory's costs count and no port is taken") {
  const double inside = 1e-6 + bytes * 1e-10;
  CHECK(seconds(cluster(2, 2, 1), {{0, 1}}) == Approx(inside));
  CHECK(seconds(cluster(2, 2, 1), {{0, 1}, {2, 3}}) == Approx(inside));
}

TEST_CASE("each message occupies its sender and its receiver for half of alpha") {
  const auto short_ones = [](const std::vector<std::pair<int, int>>& messages) {
    return simulate(sends(3, messages), 0, {}, cluster(3, 1, 1)).busiest().seconds;
  };
  CHECK(short_ones({{0, 1}}) == Approx(alpha));
  CHECK(short_ones({{0, 1}, {0, 2}}) == Approx(1.5 * alpha));
  CHECK(short_ones({{0, 2}, {1, 2}}) == Approx(1.5 * alpha));
  CHECK(short_ones({{0, 1}, {2, 0}}) == Approx(alpha));
}

TEST_CASE("an uplink that groups share shows as contention") {
  const Fabric thin{.kind = FabricKind::fat_tree, .group = 2, .beta = port_beta};
  const std::vector<std::pair<int, int>> crossing{{0, 2}, {1, 3}};
  CHECK(seconds(cluster(4, 1, 1, thin), crossing) == Approx(alpha + 2 * bytes * port_beta));
  Fabric thick = thin;
  thick.beta = port_beta / 2;
  CHECK(seconds(cluster(4, 1, 1, thick), crossing) == Approx(alpha + 1.5 * bytes * port_beta));
  CHECK(seconds(cluster(4, 1, 1, thin), {{0, 1}, {2, 3}}) == Approx(alpha + bytes * port_beta));
}

TEST_CASE("ports survive the way to other ranks, and each counts once for a host") {
  const std::vector<Port> ports{{.name = "eth0", .beta = 8e-11},
                                {.name = "mlx5_0:1", .beta = 1.0 / 3e9},
                                {.name = "veth=1", .beta = 0}};
  Host host;
  std::string bytes;
  FieldWriter writer(bytes);
  writer(ports);
  std::vector<Port> heard;
  FieldReader reader(bytes);
  reader(heard);
  for (int rank = 0; rank < 2; ++rank) add_ports(heard, host);
  add_ports({}, host);
  add_ports(std::vector<Port>{{.beta = 1e-10},
                              {.name = "eth3", .beta = -1},
                              {.name = "eth4", .beta = std::nan("")},
                              {.name = "eth5", .beta = INFINITY}},
            host);
  REQUIRE(host.ports.size() == ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    CHECK(host.ports[i].name == ports[i].name);
    CHECK(host.ports[i].beta == ports[i].beta);
  }
  CHECK(own_port(std::vector<Port>{{.name = "mlx5_0:1"}, {.name = "eth0"}}, host) == 1);
  CHECK(own_port(std::vector<Port>{{.name = "veth=1"}}, host) == 2);
  CHECK(own_port(std::vector<Port>{{.name = "unheard of"}}, host) == 0);
  CHECK(own_port({}, host) == 0);
}

TEST_CASE("a schedule of other ranks than the topology's is refused") {
  CHECK_THROWS_AS(simulate(sends(3, {{0, 1}}), bytes, {}, cluster(2, 2, 1)), Error);
}

TEST_CASE("ranks of a socket share its links to the other sockets of the host") {
  Topology topology = cluster(2, 4, 1);
  set_sockets(topology, 2);  // ranks 0 and 1, 2 and 3, and so on
  const double inside = 1e-6 + 1e-10 * bytes;
  CHECK(seconds(topology, {{0, 2}}) == Approx(inside));  // nobody said how fast they are
  topology.socket_beta = 5e-10;
  const double across = 1e-6 + 5e-10 * bytes;
  CHECK(route(topology, 0, 2) != route(topology, 2, 0));
  CHECK(route(topology, 0, 2) == route(topology, 1, 3));
  CHECK(seconds(topology, {{0, 1}}) == Approx(inside).epsilon(0.01));
  CHECK(seconds(topology, {{0, 2}}) == Approx(across).epsilon(0.01));
  CHECK(seconds(topology, {{0, 2}, {3, 1}}) == Approx(across).epsilon(0.01));
  CHECK(seconds(topology, {{0, 2}, {4, 6}}) == Approx(across).epsilon(0.01));
  CHECK(seconds(topology, {{0, 2}, {1, 3}}) == Approx(1e-6 + 1e-9 * bytes).epsilon(0.01));
  CHECK(seconds(topology, {{0, 4}}) == Approx(alpha + port_beta * bytes).epsilon(0.01));
  topology.socket[3] = -1;  // it may run on either, so nothing is known of its host
  CHECK_FALSE(Routes(topology).between_sockets(0, 2));
  CHECK(Routes(topology).between_sockets(4, 6));
}

TEST_CASE("ranks that share a processor take turns at sending and receiving") {
  const Topology topology = cluster(4, 1, 1);
  const Schedule two = sends(4, {{0, 1}, {2, 3}});
  const auto with = [&](int processors) {
    return simulate(two, 0, {.processors = processors}, topology).busiest().seconds;
  };
  CHECK(with(4) == Approx(alpha));  // half of it occupies the sender, half the receiver
  CHECK(with(0) == Approx(alpha));
  CHECK(with(1) == Approx(2 * alpha));  // both senders and both receivers, one after the other
}
