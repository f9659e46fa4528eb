// Topologies as files, as text and as pictures, and the options that take them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/program.h"
#include "tools/rondo/topology/file.h"
#include "tools/rondo/topology/here.h"
#include "tools/rondo/topology/options.h"
#include "tools/rondo/topology/text.h"

using namespace rondo;
using namespace rondo::tool;
using Json = nlohmann::ordered_json;

namespace {

const std::string path = RONDO_TEST_FOLDER "/topology_test.json";

test::Run run_rondo(const std::string& arguments) {
  return test::run_command("'" RONDO_PROGRAM "' " + arguments);
}

/// Two hosts, with a port near a socket and a device.
Topology small() {
  Topology topology = on_hosts({3, 5}, Numbering::by_host);
  topology.hosts = {{.name = "a",
                     .cores = 16,
                     .sockets = 2,
                     .ports = {{.name = "eth0", .beta = 8e-10},
                               {.name = "mlx5_0:1", .rdma = true, .beta = 2e-11, .socket = 1}},
                     .devices = {{.name = "GPU 0", .socket = 0}}},
                    {.name = "b"}};
  topology.fabric = {.kind = FabricKind::fat_tree, .group = 1, .beta = 1e-10};
  topology.network_alpha = 5e-6;
  return topology;
}

void write(const std::string& text) { std::ofstream(path) << text; }

Topology reread(const Topology& topology) {
  write(to_json(topology).dump());
  return read_topology(path);
}

/// What is said about a file that differs from a right one by `change`.
template <class Change>
std::string complaint(const Change& change) {
  Json json = to_json(small());
  change(json);
  write(json.dump());
  try {
    read_topology(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("what is written is read again") {
  CHECK(to_json(reread(small())) == to_json(small()));
  Topology seated = small();
  seated.socket = {0, 1, -1, 0, 0, 0, 0, 0};
  seated.socket_beta = 2e-11;
  CHECK(reread(seated).socket == seated.socket);
  CHECK(reread(seated).socket_beta == Approx(2e-11));
  for (const Numbering numbering : {Numbering::by_host, Numbering::in_turn}) {
    const Topology topology = on_hosts({2, 1, 4}, numbering);
    CHECK(reread(topology).host == topology.host);
  }
  Topology cabled = on_hosts({2, 1, 1}, Numbering::by_host);
  cabled.fabric = {.kind = FabricKind::cables, .cables = {{0, 1, 8e-10}, {2, 1, 4e-10}}};
  const Topology read = reread(cabled);  // with ports as fast as the cables
  CHECK(to_json(read).at("fabric") == to_json(cabled).at("fabric"));
  REQUIRE(read.hosts.size() == 3);
  CHECK(read.hosts[0].ports.at(0).beta == Approx(8e-10));
  CHECK(read.hosts[1].ports.at(0).beta == Approx(8e-10 / 3));
  CHECK(to_json(reread(read)) == to_json(read));
  CHECK_THAT(topology_text(cabled),
             Catch::Contains("2 cables between hosts: 0-1 10 Gbit/s, 2-1 20 Gbit/s"));
  CHECK_THAT(topology_svg(cabled), Catch::Contains("20 Gbit/s"));
  Topology shuffled = on_hosts({2, 2}, Numbering::by_host);
  shuffled.host = {1, 0, 0, 1};
  CHECK(reread(shuffled).host == shuffled.host);
  CHECK(to_json(shuffled).contains("host_of_rank"));
}

TEST_CASE("hosts that are alike are one entry") {
  Topology topology = on_hosts(std::vector<int>(512, 8), Numbering::by_host);
  topology.hosts.assign(512, {.ports = {{.name = "p", .beta = 1e-9}}});
  CHECK(to_json(topology).at("hosts").size() == 1);
  CHECK(reread(topology).ranks == 4096);
}

TEST_CASE("a wrong file is refused with the place and the reason") {
  using Catch::Contains;
  CHECK_THAT(complaint([](Json& json) { json["what"] = "a poem"; }), Contains("not a topology"));
  CHECK_THAT(complaint([](Json& json) { json["schema"] = 7; }), Contains("its schema is 7"));
  CHECK_THAT(complaint([](Json& json) { json.erase("hosts"); }), Contains("\"hosts\" is missing"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"] = Json::array(); }), Contains("is empty"));
  CHECK_THAT(complaint([](Json& json) { json["host"] = 1; }), Contains("\"host\" is unknown"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][1]["ranks"] = 0; }),
             Contains("hosts[1]: \"ranks\" is not a whole number from 1"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][0]["ports"][1]["socket"] = 2; }),
             Contains("hosts[0]: ports[1]: socket 2 of a host with 2"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][0]["ports"][1]["name"] = "eth0"; }),
             Contains("two ports are named eth0"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][0]["ports"][0]["bits_per_second"] = 0; }),
             Contains("ports[0]: \"bits_per_second\" is 0"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][0]["ports"][0]["kind"] = "wifi"; }),
             Contains("neither tcp nor rdma"));
  CHECK_THAT(complaint([](Json& json) { json["fabric"]["kind"] = "carpet"; }),
             Contains("fabric: \"kind\": there is no fabric 'carpet'"));
  CHECK_THAT(complaint([](Json& json) {
               json["fabric"] = {{"kind", "torus"}, {"extents", {2, 2}}};
             }),
             Contains("a torus of 4 hosts for 2"));
  const auto cabled = [&](const Json& cables) {
    return complaint([&](Json& json) {
      json["fabric"] = {{"kind", "cables"}, {"cables", cables}};
    });
  };
  CHECK_THAT(cabled({{{"between", {0, 2}}}}), Contains("a cable between hosts 0 and 2 of 2"));
  CHECK_THAT(cabled({{{"between", {0}}}}), Contains("cables[0]: \"between\" is not two hosts"));
  CHECK_THAT(cabled(Json::array()), Contains("no cables lead from host 0 to host 1"));
  CHECK_THAT(complaint([](Json& json) {
               json["fabric"] = {{"kind", "cables"}};
             }),
             Contains("\"cables\" are those of the kind cables"));
  CHECK_THAT(complaint([](Json& json) { json["numbering"] = "random"; }),
             Contains("neither by_host nor in_turn"));
  CHECK_THAT(complaint([](Json& json) { json["host_of_rank"] = {0, 0, 0, 0, 1, 1, 1, 1}; }),
             Contains("hosts[0] has 3 ranks, and \"host_of_rank\" puts 4 there"));
  CHECK_THAT(complaint([](Json& json) { json["host_of_rank"] = {2}; }), Contains("names host 2"));
  CHECK_THAT(complaint([](Json& json) { json["hosts"][0]["count"] = 1'000'000; }),
             Contains("have more than 1048576 ranks"));
  CHECK_THAT(complaint([](Json& json) {
               json["fabric"] = {{"kind", "torus"}, {"extents", {1'000'000, 1'000'000}}};
             }),
             Contains("hosts for 2"));
  CHECK_THAT(complaint([](Json& json) { json["socket_of_rank"] = {0, 1, 2, 0, 0, 0, 0, 0}; }),
             Contains("puts rank 2 on socket 2 of hosts[0], which has 2"));
  CHECK_THAT(complaint([](Json& json) {
               json["socket_of_rank"] = {0, 1};
             }),
             Contains("leaves out ranks"));
  CHECK_THAT(complaint([](Json& json) { json["between_sockets"]["bits_per_second"] = 0; }),
             Contains("between_sockets: \"bits_per_second\" is 0"));
  CHECK_THAT(complaint([](Json& json) { json["memory"]["alpha"] = -1; }),
             Contains("\"alpha\" is not a number from 0"));
  write("{");
  CHECK_THROWS_WITH(read_topology(path), Contains("not JSON"));
  CHECK_THROWS_WITH(read_topology("/no/such/file"), Contains("no such file"));
}

TEST_CASE("large topologies take seconds, and those that do not fit are refused") {
  // The others were passed over for each rank of the large host.
  std::vector<int> sizes(300'000, 1);
  sizes.push_back(300'000);
  const Topology topology = on_hosts(sizes, Numbering::in_turn);
  CHECK(topology.host.size() == 600'000);
  CHECK(topology.host[300'000] == 300'000);
  using Catch::Contains;
  CHECK_THAT(complaint([](Json& json) {
               json["hosts"][0]["count"] = 200'000;
               for (int port = 0; port < 40; ++port)
                 json["hosts"][0]["devices"].push_back({{"name", "GPU"}});
             }),
             Contains("have more than 4194304 ports and devices"));
  for (const double speed : {1e-308, 1e308})
    CHECK_THAT(complaint([&](Json& json) { json["fabric"]["bits_per_second"] = speed; }),
               Contains("fabric: \"bits_per_second\" is 1e"));
}

TEST_CASE("--hosts says the ranks of each host") {
  CHECK(parse_hosts("2x4") == std::vector<int>{4, 4});
  CHECK(parse_hosts("3+5") == std::vector<int>{3, 5});
  CHECK(parse_hosts("2x2+1") == std::vector<int>{2, 2, 1});
  for (const char* wrong :
       {"", "0", "2x0", "x4", "2x", "two", "-1", "3+", "+3", "3++5", "1000000x1000000"})
    CHECK_THROWS_AS(parse_hosts(wrong), Error);
}

TEST_CASE("a topology as text and as a picture") {
  const std::string text = topology_text(small());
  CHECK_THAT(text, Catch::StartsWith("8 ranks on 2 hosts\nhost 0 (a): 3 ranks (0-2); 16 cores, 2 "
                                     "sockets\n    TCP port eth0, 10 Gbit/s\n"));
  CHECK_THAT(text, Catch::Contains("    RDMA port mlx5_0:1, 400 Gbit/s, socket 1\n"));
  CHECK_THAT(text, Catch::Contains("host 1 (b): 5 ranks (3-7)\n"));
  CHECK_THAT(text, Catch::Contains("fat tree: a switch for each 1 host, with 80 Gbit/s"));
  for (const FabricKind kind :
       {FabricKind::one_switch, FabricKind::fat_tree, FabricKind::dragonfly,
        FabricKind::rail_optimised, FabricKind::torus, FabricKind::cables}) {
    Topology topology = on_hosts(std::vector<int>(16, 40), Numbering::in_turn);
    topology.fabric = {.kind = kind, .group = 4, .extents = {4, 4}, .cables = {{0, 1, 8e-10}}};
    const std::string svg = topology_svg(topology);
    CHECK_THAT(svg, Catch::StartsWith("<svg") && Catch::Contains("and 4 hosts more"));
    CHECK_THAT(svg, Catch::Contains("and 8 ranks more"));
    CHECK_THAT(topology_text(topology), Catch::Contains("hosts 0-15, each: 40 ranks"));
  }
}

TEST_CASE("ports, their speeds and sockets come from the kernel's folder of devices") {
  const std::filesystem::path system = RONDO_TEST_FOLDER "/topology_test_system";
  for (const char* node : {"node0", "node1"})
    std::filesystem::create_directories(system / "devices/system/node" / node);
  const Host plain = host_here(system);
  CHECK(plain.sockets == 2);
  for (const Port& port : plain.ports) {
    if (port.rdma) continue;
    CHECK(port.beta == 0);
    const std::filesystem::path folder = system / "class/net" / port.name;
    std::filesystem::create_directories(folder / "device");
    std::ofstream(folder / "speed") << "25000\n";
    std::ofstream(folder / "device/numa_node") << "1\n";
  }
  for (const Port& port : host_here(system).ports) {
    if (port.rdma) continue;
    CHECK(port.beta == Approx(8 / 25e9));
    CHECK(port.socket == 1);
  }
  std::filesystem::remove_all(system);
}

TEST_CASE("a cluster that is not there is planned, drawn and asked about") {
  const std::string plan =
      "topology --hosts 512x8 --ports 8 --port-speed 400G --fabric fat_tree "
      "--group 32 --fabric-speed 51.2T";
  write(run_rondo(plan + " --json").output);
  const Topology topology = read_topology(path);
  CHECK(topology.ranks == 4096);
  CHECK(topology.hosts.front().ports.front().beta == Approx(2e-11));
  CHECK(run_rondo(plan + " --svg -").output.starts_with("<svg"));
  CHECK(run_rondo("topology --topology '" + path + "'").says("hosts 0-511, each: 8 ranks"));
  const test::Run why = run_rondo("why all_reduce 16M --topology '" + path + "'");
  INFO(why.output);
  CHECK(why.status == 0);
  CHECK(why.says("hierarchical(ring,circulant)"));
  CHECK(why.says("about "));
}

TEST_CASE("a cluster of hosts with several sockets is planned") {
  const std::string hosts = "topology --hosts 2x8 --port-speed 100G";
  const std::string plan = hosts + " --ports 2 --sockets 2 --socket-speed 16G";
  write(run_rondo(plan + " --json").output);
  const Topology topology = read_topology(path);
  CHECK(topology.socket == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(topology.hosts.front().ports.back().socket == 1);
  CHECK(run_rondo(plan).says("hosts 0-1, each: 8 ranks; 4 + 4 on 2 sockets\n"));
  CHECK(run_rondo(plan).says("between sockets of a host: 16 Gbit/s each way"));
  CHECK(run_rondo(plan + " --svg -").says("host 1, 2 sockets"));
  CHECK_FALSE(run_rondo(hosts + " --svg -").says("sockets"));
  const auto simulated = [&](const std::string& algorithm) {
    return run_rondo("simulate all_reduce -b 16M --topology '" + path + "' -a '" + algorithm + "'");
  };
  CHECK(simulated("hierarchical(one_shot,chain,ring)").says("hierarchical(one_shot,chain,ring)"));
  CHECK(
      run_rondo("explain all_reduce --topology '" + path + "' -a 'hierarchical(chain,chain,ring)'")
          .says("\nreduce-scatter across hosts       1          16   1 message"));
  const test::Run why = run_rondo("why all_reduce 16M --topology '" + path +
                                  "' -a 'hierarchical(one_shot,chain,ring)'");
  CHECK(why.says("* hierarchical(one_shot,chain,ring)"));
  CHECK(why.says("Links between sockets do not count here"));
  const test::Run wrong = simulated("hierarchical(one_shot,two_shot,ring)");
  CHECK(wrong.status == 2);
  CHECK(wrong.says("or (SOCKET,INSIDE,ACROSS) with SOCKET like INSIDE"));
  CHECK(run_rondo("schedule reduce --topology '" + path + "' -a 'hierarchical(chain,chain,chain)'")
            .says("phase \"reduce between sockets\""));
  CHECK(run_rondo(hosts + " --sockets 0").status != 0);
  CHECK(run_rondo(hosts + " --sockets 2 --socket-speed fast").says("--socket-speed"));
}

TEST_CASE("subcommands know compositions where hosts are given") {
  CHECK(run_rondo("schedule all_gather --hosts 2+1 -a 'hierarchical(chain,ring)'")
            .says("phase \"broadcast inside hosts\""));
  const test::Run explained =
      run_rondo("explain all_reduce --hosts 3+5 -a 'hierarchical(ring,ring)'");
  CHECK(explained.says("Verified: every output is right"));
  CHECK(run_rondo("simulate all_reduce --hosts 2x2 -b 64K").says("hierarchical(one_shot,ring)"));
  CHECK_FALSE(run_rondo("simulate all_reduce --ranks 4 -b 64K").says("hierarchical"));
  const test::Run wrong = run_rondo("explain all_reduce --hosts 2x2 -a 'hierarchical(ring,rung)'");
  CHECK(wrong.status == 2);
  CHECK(wrong.says("with INSIDE one of one_shot, ring, binomial_tree, chain"));
  CHECK(run_rondo("simulate send_recv --hosts 2x2 -a hierarchical").says("no hierarchical ones"));
  CHECK(run_rondo("why all_reduce 1M --hosts 2x2 --ranks 4").status == 2);
  CHECK(
      run_rondo("simulate all_reduce --ranks 4 --processors 2").says("--processors without hosts"));
  CHECK(run_rondo("why all_reduce 1M --hosts 2x2 --apart").status == 2);
}

TEST_CASE("a job's topology has every rank once, whoever prints it") {
  const test::Run run =
      test::run_command("'" RONDORUN_PROGRAM "' -n 3 '" RONDO_PROGRAM "' topology --json");
  INFO(run.output);
  write(run.output);
  const Topology topology = read_topology(path);
  CHECK(topology.ranks == 3);
  CHECK(topology.host == std::vector<int>{0, 0, 0});
  const test::Run apart = test::run_command(
      "'" RONDORUN_PROGRAM "' -n 2 sh -c 'RONDO_HOSTID=h$RANK exec " RONDO_PROGRAM " topology'");
  INFO(apart.output);
  CHECK(apart.says("2 ranks on 2 hosts"));
}
