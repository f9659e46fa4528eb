// The verbs transport's view of devices, over made-up ones: RONDO_IB_HCA, the choice of GIDs, which
// ports are used and why not the others. Needs no device, no libibverbs and not its headers.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/numa.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "transports/verbs/devices.h"

namespace rondo::testing {
namespace {

using verbs::Discovery;
using verbs::Gid;
using verbs::GidFamily;
using verbs::GidKind;
using verbs::HcaSelection;
using verbs::LinkLayer;
using verbs::Port;
using verbs::PortState;
using verbs::Settings;

constexpr std::array<std::uint8_t, 16> mapped{0, 0, 0,    0,    0,  0,  0, 0,
                                              0, 0, 0xff, 0xff, 10, 77, 0, 1};
constexpr std::array<std::uint8_t, 16> link_local{0xfe, 0x80, 0, 0,    0,    0, 0, 0,
                                                  0x52, 0x54, 0, 0xff, 0xfe, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> global{0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};

Gid gid(int index, const std::array<std::uint8_t, 16>& bytes, GidKind kind) {
  return {.bytes = bytes, .index = index, .kind = kind, .interface = "eth0"};
}

/// A table as a driver fills it: each address in both kinds.
std::vector<Gid> table_of_roce() {
  return {gid(0, link_local, GidKind::roce_v1), gid(1, link_local, GidKind::roce_v2),
          gid(2, mapped, GidKind::roce_v1),     gid(3, mapped, GidKind::roce_v2),
          gid(4, global, GidKind::roce_v1),     gid(5, global, GidKind::roce_v2)};
}

Port roce_port(const std::string& device, int number, double speed) {
  return {.device = device,
          .port = number,
          .state = PortState::active,
          .layer = LinkLayer::ethernet,
          .speed = speed,
          .mtu = 4096,
          .pkeys = 1,
          .gids = table_of_roce()};
}

Port infiniband_port() {
  Port port = roce_port("mlx5_7", 1, 200);
  port.layer = LinkLayer::infiniband;
  port.lid = 12;
  port.pkeys = 128;
  port.gids = {gid(0, link_local, GidKind::infiniband)};
  return port;
}

std::string refusal(const std::string& hca) {
  try {
    HcaSelection{hca};
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.message();
  }
  return "none";
}

}  // namespace

TEST_CASE("RONDO_IB_HCA: prefixes, exact names, exclusion, ports", "[verbs]") {
  const HcaSelection all;
  CHECK((all.allows("mlx5_0", 1) && !all.restricts()));
  CHECK(HcaSelection("").allows("mlx5_0", 1));
  const HcaSelection prefix("mlx5_1");
  CHECK((prefix.allows("mlx5_1", 1) && prefix.allows("mlx5_10", 2) && !prefix.allows("mlx5_2", 1)));
  CHECK(prefix.restricts());
  const HcaSelection exact("=mlx5_1");
  CHECK((exact.allows("mlx5_1", 2) && !exact.allows("mlx5_10", 1)));
  const HcaSelection several(" mlx5_0:1 , mlx4:2 ");
  CHECK((several.allows("mlx5_0", 1) && !several.allows("mlx5_0", 2)));
  CHECK((several.allows("mlx4_3", 2) && !several.allows("mlx4_3", 1)));
  const HcaSelection rest("^mlx5_3");
  CHECK((rest.allows("mlx5_2", 1) && !rest.allows("mlx5_3", 1) && !rest.allows("mlx5_31", 1)));
  const HcaSelection exact_rest("^=mlx5_3:2");
  CHECK((exact_rest.allows("mlx5_3", 1) && !exact_rest.allows("mlx5_3", 2)));
  CHECK((exact_rest.allows("mlx5_31", 2) && exact_rest.text() == "^=mlx5_3:2"));
}

TEST_CASE("RONDO_IB_HCA: what is wrong is quoted", "[verbs]") {
  CHECK(refusal("^") == "RONDO_IB_HCA=^: it names no device");
  CHECK(refusal("=,") == "RONDO_IB_HCA==,: it names no device");
  CHECK(refusal("mlx5_0:x") == "RONDO_IB_HCA=mlx5_0:x: 'x' in 'mlx5_0:x' is not a port");
  CHECK(refusal("mlx5_0:0") == "RONDO_IB_HCA=mlx5_0:0: '0' in 'mlx5_0:0' is not a port");
  CHECK(refusal("mlx5_0:") == "RONDO_IB_HCA=mlx5_0:: '' in 'mlx5_0:' is not a port");
  CHECK(refusal("mlx5_0,:1") ==
        "RONDO_IB_HCA=mlx5_0,:1: ':1' does not begin with the name of a device");
  CHECK(refusal("mlx5_0,^mlx5_1").find("'^mlx5_1' does not begin") != std::string::npos);
  CHECK(refusal("mlx5_0:1:0:2") ==
        "RONDO_IB_HCA=mlx5_0:1:0:2: 'mlx5_0:1:0:2' names a port or a plane, which rondo does not "
        "know");
}

TEST_CASE("GIDs as text, by family and subnet", "[verbs]") {
  CHECK(to_text(gid(0, mapped, GidKind::roce_v2)) == "10.77.0.1");
  CHECK(to_text(gid(0, mapped, GidKind::infiniband)) == "::ffff:10.77.0.1");
  CHECK(to_text(gid(0, link_local, GidKind::roce_v2)) == "fe80::5254:ff:fe00:1");
  CHECK(family(gid(0, mapped, GidKind::roce_v2)) == GidFamily::ipv4);
  CHECK(family(gid(0, global, GidKind::roce_v2)) == GidFamily::ipv6);
  CHECK(family(gid(0, link_local, GidKind::roce_v2)) == GidFamily::ipv6_link_local);
  CHECK(subnet_prefix(gid(0, link_local, GidKind::infiniband)) == 0xfe80000000000000u);
}

TEST_CASE("the choice of a GID: RoCE v2 on IPv4 first, v1 last", "[verbs]") {
  std::vector<Gid> table = table_of_roce();
  const auto choose = [&] { return choose_gid(table, LinkLayer::ethernet, -1); };
  CHECK(choose().gid.index == 3);
  CHECK(choose().reason == "the first RoCE v2 address on IPv4");
  table.push_back(gid(9, mapped, GidKind::roce_v2));  // an alias: the lower index stays
  CHECK(choose().gid.index == 3);
  std::erase_if(table, [](const Gid& g) { return family(g) == GidFamily::ipv4; });
  CHECK(choose().gid.index == 5);
  std::erase_if(table, [](const Gid& g) { return family(g) == GidFamily::ipv6; });
  CHECK(choose().gid.index == 1);
  CHECK(choose().reason.find("link-local") != std::string::npos);
  table.resize(1);
  CHECK(choose().gid.index == 0);
  CHECK(choose().reason == "there is only RoCE v1, which no router passes on");
  table.clear();
  CHECK_FALSE(choose().found);
  CHECK(choose().reason.find("IP address") != std::string::npos);
  CHECK_FALSE(choose_gid(table, LinkLayer::infiniband, -1).found);
  CHECK(choose_gid(infiniband_port().gids, LinkLayer::infiniband, -1).reason ==
        "the port's first GID");
}

TEST_CASE("RONDO_IB_GID_INDEX is followed or refused with what there is", "[verbs]") {
  const std::vector<Gid> table = table_of_roce();
  const auto wanted = choose_gid(table, LinkLayer::ethernet, 4);
  CHECK((wanted.found && wanted.gid.index == 4));
  CHECK(wanted.reason == "RONDO_IB_GID_INDEX=4 asks for it");
  const auto missing = choose_gid(table, LinkLayer::ethernet, 17);
  CHECK_FALSE(missing.found);
  CHECK(missing.reason ==
        "RONDO_IB_GID_INDEX=17, but that entry of the port's table is empty or beyond its end; "
        "there are: 0, 1, 2, 3, 4, 5");
}

TEST_CASE("two ends must have GIDs of one kind", "[verbs]") {
  const Gid v2 = gid(3, mapped, GidKind::roce_v2);
  CHECK(why_no_path(v2, gid(1, mapped, GidKind::roce_v2)).empty());
  CHECK(
      why_no_path(gid(1, link_local, GidKind::roce_v2), gid(5, global, GidKind::roce_v2)).empty());
  CHECK(why_no_path(v2, gid(5, global, GidKind::roce_v2)).find("IPv4 and IPv6") !=
        std::string::npos);
  CHECK(why_no_path(v2, gid(2, mapped, GidKind::roce_v1)) ==
        "RoCE v2 10.77.0.1 (GID index 3) here and RoCE v1 10.77.0.1 (GID index 2) there: RoCE v1 "
        "and RoCE v2 cannot reach each other; set RONDO_IB_GID_INDEX on each host to an entry of "
        "the same kind (`rondo rdma` lists them)");
  const Gid ib = infiniband_port().gids[0];
  CHECK(why_no_path(v2, ib).find("RONDO_IB_HCA") != std::string::npos);
  CHECK(why_no_path(ib, ib).empty());
}

TEST_CASE("why a port is not used", "[verbs]") {
  const Settings settings;
  const Port good = roce_port("mlx5_0", 1, 100);
  CHECK(why_not(good, settings).empty());
  CHECK(why_not(infiniband_port(), settings).empty());
  const auto changed = [&](auto change) {
    Port port = good;
    change(port);
    return why_not(port, settings);
  };
  CHECK(changed([](Port& p) { p.state = PortState::down; }).starts_with("it is down: look at the"));
  CHECK(changed([](Port& p) { p.state = PortState::initialize; }).find("opensm") !=
        std::string::npos);
  CHECK(changed([](Port& p) { p.state = PortState::armed; }).find("opensm") != std::string::npos);
  CHECK(changed([](Port& p) { p.state = PortState::active_defer; }).find("come back") !=
        std::string::npos);
  CHECK_FALSE(changed([](Port& p) { p.state = PortState::nop; }).empty());
  CHECK(changed([](Port& p) { p.infiniband_transport = false; }).find("iWARP") !=
        std::string::npos);
  CHECK(changed([](Port& p) { p.layer = LinkLayer::unknown; }) ==
        "it is neither InfiniBand nor Ethernet");
  CHECK(changed([](Port& p) { p.gids.clear(); }).find("no GID") != std::string::npos);
  CHECK(changed([](Port& p) { p.trouble = "it cannot be opened"; }) == "it cannot be opened");
  Port without_lid = infiniband_port();
  without_lid.lid = 0;
  CHECK(why_not(without_lid, settings).find("LID") != std::string::npos);
}

TEST_CASE("a port that settings leave out says so", "[verbs]") {
  const Port good = roce_port("mlx5_0", 1, 100);
  const auto with = [&](const InfinibandConfig& config) {
    return why_not(good, verbs::make_settings(config));
  };
  CHECK(with({.hca = "mlx4"}) == "RONDO_IB_HCA=mlx4 leaves it out");
  CHECK(with({.disable = true}) == "RONDO_IB_DISABLE=1");
  CHECK(with({.gid_index = 99}).starts_with("RONDO_IB_GID_INDEX=99, but"));
  CHECK(with({.pkey_index = 1}) ==
        "RONDO_IB_PKEY=1, but the last index of its table of partition keys is 0");
  CHECK_THROWS_AS(with({.hca = "mlx5_0:port"}), Error);
}

TEST_CASE("usable ports: the fastest first, then by name and number", "[verbs]") {
  Port down = roce_port("mlx5_9", 1, 400);
  down.state = PortState::down;
  const std::vector<Port> ports{roce_port("mlx5_2", 1, 100), roce_port("mlx5_1", 2, 100), down,
                                infiniband_port(), roce_port("mlx5_1", 1, 100)};
  std::string order;
  for (const Port& port : verbs::usable_ports(ports, Settings{}))
    order += port.device + ":" + std::to_string(port.port) + " ";
  CHECK(order == "mlx5_7:1 mlx5_1:1 mlx5_1:2 mlx5_2:1 ");
}

TEST_CASE("why there is no usable port", "[verbs]") {
  const Port good = roce_port("mlx5_0", 1, 100);
  CHECK(why_none({.obstacle = "no library"}, Settings{}) == "no library");
  CHECK(why_none({.ports = {good}}, Settings{}).empty());
  CHECK(why_none({.ports = {good, infiniband_port()}}, verbs::make_settings({.hca = "=rxe0"})) ==
        "mlx5_0 port 1: RONDO_IB_HCA==rxe0 leaves it out; mlx5_7 port 1: RONDO_IB_HCA==rxe0 leaves "
        "it out");
  CHECK(why_none({.ports = {good}}, verbs::make_settings({.disable = true})) ==
        "RONDO_IB_DISABLE=1");
}

TEST_CASE("settings in the verbs' types, and how long retries take", "[verbs]") {
  const Settings settings = verbs::make_settings({.timeout = 14,
                                                  .retry_count = 3,
                                                  .service_level = 15,
                                                  .traffic_class = 255,
                                                  .pkey_index = 65535,
                                                  .queue_pairs = 128});
  CHECK((settings.timeout == 14 && settings.retry_count == 3 && settings.service_level == 15));
  CHECK((settings.traffic_class == 255 && settings.pkey_index == 65535));
  CHECK((settings.queue_pairs == 128 && settings.gid_index == -1 && !settings.hcas.restricts()));
  CHECK(retry_time(settings).count() == 268'435);  // 4.096 us x 2^14 x 4, rounded down
  CHECK(retry_time(Settings{}) == std::chrono::microseconds(8'589'934));
  CHECK(retry_time(verbs::make_settings({.timeout = 31})) > std::chrono::hours(19));
}

TEST_CASE("discovery answers on any machine", "[verbs]") {
  const Discovery discovery = verbs::discover();
  CHECK(discovery.obstacle.empty() == !discovery.ports.empty());
  CHECK((discovery.obstacle.empty() || !discovery.remedy.empty()));
  CHECK(verbs::usable_ports(verbs::make_settings({.disable = true})).empty());
  for (const Port& port : discovery.ports) {
    CHECK_FALSE(port.device.empty());
    CHECK(port.port >= 0);
  }
  CHECK_THROWS_AS(verbs::open(Port{.device = "no_such_device", .port = 1}), Error);
}

TEST_CASE("among equally fast ports those near the process come first", "[verbs]") {
  std::vector<Port> ports{roce_port("a", 1, 100), roce_port("b", 1, 100), roce_port("c", 1, 200)};
  ports[0].numa_node = 0;
  ports[1].numa_node = 1;
  ports[2].numa_node = 0;
  const auto order = [&](int node) {
    Settings settings;
    settings.numa_node = node;
    std::string names;
    for (const Port& port : usable_ports(ports, settings)) names += port.device;
    return names;
  };
  CHECK(order(-1) == "cab");
  CHECK(order(0) == "cab");
  CHECK(order(1) == "cba");
}

TEST_CASE("the process's NUMA node, from the kernel's folders of processors", "[verbs]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rondo_numa_" + std::to_string(::getpid()));
  const auto link = [&](int processor, const std::string& node) {
    std::filesystem::create_directories(folder / ("cpu" + std::to_string(processor)) / node);
  };
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) link(processor, "node3");
  const int together = process_numa_node(folder);
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  std::filesystem::remove_all(folder / ("cpu" + std::to_string(first)));
  link(first, "node1");
  const int apart = process_numa_node(folder);
  std::filesystem::remove_all(folder);
  CHECK(together == 3);
  CHECK(apart == (CPU_COUNT(&allowed) == 1 ? 1 : -1));
  CHECK(process_numa_node("/nonexistent") == -1);
}

}  // namespace rondo::testing
