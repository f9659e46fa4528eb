// What `rondo rdma` prints, for made-up devices.
#include "tools/rondo/rdma_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/catch.h"

namespace rondo::tool {
namespace {

using verbs::Discovery;
using verbs::Gid;
using verbs::GidKind;
using verbs::Port;

Discovery two_ports() {
  Gid v6{.index = 0, .kind = GidKind::roce_v2, .interface = "dummy0"};
  v6.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x52, 0x54, 0, 0xff, 0xfe, 0, 0, 1};
  Gid v4{.index = 1, .kind = GidKind::roce_v2, .interface = "dummy0"};
  v4.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
  const Port roce{.device = "rxe0",
                  .port = 1,
                  .state = verbs::PortState::active,
                  .layer = verbs::LinkLayer::ethernet,
                  .speed = 2.5,
                  .mtu = 4096,
                  .pkeys = 1,
                  .gids = {v6, v4}};
  const Port closed{.device = "zebra_0",
                    .guid = 0xabc,
                    .trouble =
                        "it cannot be opened (Permission denied): be root or in the group "
                        "that owns /dev/infiniband/uverbs*"};
  return {.ports = {roce, closed}};
}

TEST_CASE("the table of devices") {
  CHECK(rdma_text(two_ports(), verbs::Settings{}) ==
        R"(DEVICE   PORT  STATE       LINK        GBIT/S  MTU   NUMA  USED
rxe0     1     active      Ethernet    2.5     4096  -     yes
    used by GID 1: the first RoCE v2 address on IPv4
    GID 0    RoCE v2  fe80::5254:ff:fe00:1  dummy0
  * GID 1    RoCE v2  10.77.0.1             dummy0
zebra_0  -     -           -           -       -     -     no
    not used: it cannot be opened (Permission denied): be root or in the group
              that owns /dev/infiniband/uverbs*

rondo uses 1 of 2 ports, at the addresses marked *. RONDO_IB_HCA chooses ports,
RONDO_IB_GID_INDEX addresses. The fastest ports come first; among equals, those
near the process, once it is bound to the processors of one NUMA node.
A call gives up a silent peer after 8.6 s or more (RONDO_IB_TIMEOUT=18,
RONDO_IB_RETRY_CNT=7).
)");
}

TEST_CASE("a port's NUMA node is told beside the process's") {
  Discovery near = two_ports();
  near.ports[0].numa_node = 1;
  verbs::Settings settings;
  settings.numa_node = 1;
  std::string text = rdma_text(near, settings);
  CHECK(text.find("    on NUMA node 1, as this process\n") != std::string::npos);
  std::ranges::replace(text, '\n', ' ');  // it does not matter where lines end
  CHECK(text.find("among equals, those near this process, on NUMA node 1.") != std::string::npos);
  settings.numa_node = 0;
  CHECK(rdma_text(near, settings).find("on NUMA node 1, this process on another") !=
        std::string::npos);
}

TEST_CASE("without devices the text says why and what to do") {
  const Discovery none{.obstacle = "the kernel shows no RDMA device", .remedy = "load its driver"};
  CHECK(rdma_text(none, verbs::Settings{}) ==
        "No InfiniBand or RoCE here: the kernel shows no RDMA device.\n"
        "To have it: load its driver\n"
        "Without it rondo uses tcp between machines.\n");
  const auto json = rdma_json(none, verbs::Settings{});
  CHECK(json["obstacle"] == none.obstacle);
  CHECK(json["remedy"] == none.remedy);
  CHECK(json["ports"].empty());
}

TEST_CASE("where no port is used, the text says what is used instead") {
  const std::string text = rdma_text(two_ports(), verbs::make_settings({.disable = true}));
  CHECK(text.find("not used: RONDO_IB_DISABLE=1") != std::string::npos);
  CHECK(text.find("rondo uses none of them. Between machines it uses tcp.") != std::string::npos);
  CHECK(text.find('*') == std::string::npos);
}

TEST_CASE("no line is wider than a screen") {
  Discovery wide = two_ports();
  wide.ports[0].device = "rocep129s0f0np0_bond_w24";
  wide.ports[0].gids[0].interface = "enp129s0f0np0v1";
  wide.ports[0].gids[0].bytes = {0xfd, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  std::istringstream lines(rdma_text(wide, verbs::Settings{}));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("as JSON") {
  const auto json = rdma_json(two_ports(), verbs::make_settings({.gid_index = 0}));
  REQUIRE(json["ports"].size() == 2);
  const auto& first = json["ports"][0];
  CHECK(first["device"] == "rxe0");
  CHECK(first["used"] == true);
  CHECK(first["gid_index"] == 0);
  CHECK(first["why_gid"] == "RONDO_IB_GID_INDEX=0 asks for it");
  CHECK(first["gids"][1]["address"] == "10.77.0.1");
  CHECK(first["gids"][1]["kind"] == "RoCE v2");
  const auto& second = json["ports"][1];
  CHECK(second["used"] == false);
  CHECK(second["guid"] == "0000000000000abc");
  CHECK(second["why_not"].get<std::string>().find("cannot be opened") != std::string::npos);
  CHECK(json["settings"]["timeout"] == 18);
  CHECK(json["settings"]["retry_us"] == 8589934);
}

}  // namespace
}  // namespace rondo::tool
