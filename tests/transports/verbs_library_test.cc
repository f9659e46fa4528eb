// The run-time loaded library, discovery over a made-up one, and the words for every failure. Built
// where libibverbs's headers are; needs neither the library nor a device.
#include <endian.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/transports/world.h"
#include "transports/verbs/discovery.h"
#include "transports/verbs/port_errors.h"

namespace rondo::testing {
namespace {

using verbs::Library;
using verbs::Link;
using verbs::Reach;

/// What the made-up library hands out. Only the count of open contexts changes.
struct Machine {
  std::array<ibv_device, 2> devices{};
  std::array<ibv_device*, 3> list{};
  ibv_context context{};
  int open = 0;

  Machine() {
    std::strcpy(devices[0].name, "zebra_0");
    std::strcpy(devices[1].name, "mlx5_0");
    list = {&devices[0], &devices[1], nullptr};
  }
};

/// The machine as a global, since the verbs pass on no pointer of ours.
Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

void fill(ibv_gid_entry& entry, std::uint32_t index, std::uint32_t port, std::uint32_t kind) {
  entry = {};
  entry.gid.raw[15] = static_cast<std::uint8_t>(index);
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = kind;
}

int answer_port(std::uint8_t number, ibv_port_attr& attributes) {
  if (number == 3) return EIO;
  attributes.state = number == 1 ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes.active_mtu = IBV_MTU_1024;
  attributes.active_width = 2;
  attributes.active_speed = 32;
  attributes.lid = 7;
  attributes.gid_tbl_len = 4;
  attributes.pkey_tbl_len = 2;
  attributes.link_layer = number == 1 ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  return 0;
}

/// mlx5_0 has three ports, the third broken; zebra_0 may not be opened.
Library made_up() {
  Library table;
  table.get_device_list = [](int* count) {
    *count = 2;
    return machine().list.data();
  };
  table.free_device_list = [](ibv_device**) {};
  table.get_device_name = [](ibv_device* device) -> const char* { return device->name; };
  table.get_device_guid = [](ibv_device*) -> __be64 { return htobe64(0x1122334455667788u); };
  table.open_device = [](ibv_device* device) -> ibv_context* {
    errno = EACCES;
    if (device == &machine().devices[0]) return nullptr;
    ++machine().open;
    return &machine().context;
  };
  table.close_device = [](ibv_context*) { return --machine().open; };
  static ibv_pd domain;
  table.alloc_pd = [](ibv_context*) { return &domain; };
  table.dealloc_pd = [](ibv_pd*) { return 0; };
  table.query_device = [](ibv_context*, ibv_device_attr* attributes) {
    attributes->phys_port_cnt = 3;
    return 0;
  };
  table.query_port_compat = [](ibv_context*, std::uint8_t number, _compat_ibv_port_attr* into) {
    return answer_port(number, *reinterpret_cast<ibv_port_attr*>(into));
  };
  table.query_gid_table = [](ibv_context*, ibv_gid_entry* entries, std::size_t most, std::uint32_t,
                             std::size_t) -> ssize_t {
    CHECK(most == 8);  // of the two ports that answer
    fill(entries[0], 3, 1, IBV_GID_TYPE_ROCE_V2);
    fill(entries[1], 1, 1, IBV_GID_TYPE_ROCE_V1);
    fill(entries[2], 0, 2, IBV_GID_TYPE_IB);
    return 3;
  };
  return table;
}

const Link full{
    .rank = 1, .peer = 3, .device = "rxe1", .port = 1, .gid = "10.77.1.1", .peer_gid = "10.77.1.2"};

}  // namespace

TEST_CASE("a library that is missing or too old is an obstacle in words", "[verbs]") {
  const auto missing = verbs::load("libno_such_verbs.so.1");
  CHECK_FALSE(missing.usable);
  CHECK(missing.obstacle.find("libno_such_verbs.so.1") != std::string::npos);
  const auto other = verbs::load("libc.so.6");
  CHECK_FALSE(other.usable);
  CHECK(other.obstacle == "libc.so.6 lacks ibv_get_device_list: rondo needs rdma-core 32 or newer");
  CHECK((verbs::loaded().usable || !verbs::loaded().obstacle.empty()));
  CHECK(&verbs::loaded() == &verbs::loaded());
}

TEST_CASE("a port's speed from its codes", "[verbs]") {
  CHECK(verbs::link_speed(2, 32) == 100);   // EDR x4
  CHECK(verbs::link_speed(2, 128) == 400);  // NDR x4
  CHECK(verbs::link_speed(1, 1) == 2.5);
  CHECK(verbs::link_speed(8, 16) == 168);
  CHECK(verbs::link_speed(16, 64) == 100);  // HDR x2
  CHECK(verbs::link_speed(0, 32) == 0);
  CHECK(verbs::link_speed(2, 0) == 0);
  CHECK(verbs::link_speed(2, 3) == 0);
}

TEST_CASE("discovery sees devices, ports and addresses, and what fails", "[verbs]") {
  const auto found = verbs::discover(made_up(), "/nonexistent").ports;
  CHECK(machine().open == 0);
  REQUIRE(found.size() == 4);
  const auto& first = found[0];
  CHECK((first.device == "mlx5_0" && first.port == 1 && first.guid == 0x1122334455667788u));
  CHECK((first.state == verbs::PortState::active && first.layer == verbs::LinkLayer::ethernet));
  CHECK((first.speed == 100 && first.mtu == 1024 && first.lid == 0 && first.pkeys == 2));
  CHECK((first.numa_node == -1 && first.infiniband_transport && first.trouble.empty()));
  REQUIRE(first.gids.size() == 2);
  CHECK((first.gids[0].index == 1 && first.gids[0].kind == verbs::GidKind::roce_v1));
  CHECK((first.gids[1].index == 3 && first.gids[1].kind == verbs::GidKind::roce_v2));
  CHECK((found[1].port == 2 && found[1].lid == 7 && found[1].gids.size() == 1));
  CHECK(name(found[1].state) == "down");
  CHECK((found[2].port == 3 && found[2].trouble == "its port cannot be read (Input/output error)"));
  CHECK((found[3].device == "zebra_0" && found[3].port == 0 && found[3].gids.empty()));
  CHECK(found[3].trouble.starts_with("it cannot be opened (Permission denied): be root"));
}

TEST_CASE("the kernel's files tell the NUMA node, and speeds that the verbs cannot", "[verbs]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rondo_verbs_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "mlx5_0" / "device");
  std::filesystem::create_directories(folder / "mlx5_0" / "ports" / "1");
  std::ofstream(folder / "mlx5_0" / "device" / "numa_node") << "1\n";
  std::ofstream(folder / "mlx5_0" / "ports" / "1" / "rate") << "800 Gb/sec (4X XDR)\n";
  Library table = made_up();
  table.query_port_compat = [](ibv_context*, std::uint8_t number, _compat_ibv_port_attr* into) {
    auto& attributes = *reinterpret_cast<ibv_port_attr*>(into);
    const int result = answer_port(number, attributes);
    attributes.active_speed = 0;
    return result;
  };
  const auto found = verbs::discover(table, folder).ports;
  std::filesystem::remove_all(folder);
  REQUIRE(found.size() == 4);
  CHECK((found[0].numa_node == 1 && found[0].speed == 800));
  CHECK((found[1].numa_node == 1 && found[1].speed == 0));
}

TEST_CASE("discovery without devices says what is missing", "[verbs]") {
  Library table = made_up();
  table.get_device_list = [](int* count) {
    *count = 0;
    return machine().list.data();
  };
  const auto none = verbs::discover(table, "/nonexistent");
  CHECK(none.obstacle == "the kernel shows no RDMA device");
  CHECK(none.remedy.find("rdma_rxe") != std::string::npos);
  const auto hidden = verbs::discover(table, "/proc/self");  // a folder with entries
  CHECK(hidden.obstacle.find("but libibverbs shows none") != std::string::npos);
  CHECK(hidden.remedy.find("ibverbs-providers") != std::string::npos);
}

/// Everything that the transport makes of a port, in the order that library.h states.
void make_handles(const verbs::Port& port) {
  const Library& table = verbs::library();
  const verbs::Context context = verbs::open(port);
  const verbs::ProtectionDomain domain(table.alloc_pd(context.get()));
  REQUIRE(domain);
  const verbs::CompletionChannel channel(table.create_comp_channel(context.get()));
  REQUIRE(channel);
  const verbs::CompletionQueue queue(table.create_cq(context.get(), 16, nullptr, channel.get(), 0));
  REQUIRE(queue);
  std::vector<std::byte> memory(8192);
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const auto strict = verbs::register_memory(domain.get(), memory.data(), memory.size(), access);
  const auto relaxed = verbs::register_memory(domain.get(), memory.data(), memory.size(),
                                              access | IBV_ACCESS_RELAXED_ORDERING);
  CHECK((strict && relaxed && strict->length == memory.size()));
  ibv_qp_init_attr attributes{};
  attributes.send_cq = queue.get();
  attributes.recv_cq = queue.get();
  attributes.cap = {.max_send_wr = 16,
                    .max_recv_wr = 16,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  const verbs::QueuePair pair(table.create_qp(domain.get(), &attributes));
  CHECK(pair);
}

TEST_CASE("handles on the devices that are there come and go", "[verbs]") {
  const auto found = verbs::discover();
  const auto ports = usable_ports(found.ports, verbs::Settings{});
  CHECK(ports.empty() == !why_none(found, verbs::Settings{}).empty());
  const std::size_t before = open_descriptors();
  for (const verbs::Port& port : ports) make_handles(port);
  CHECK(open_descriptors() == before);
}

namespace {

/// What a made-up library was asked to register.
struct Asked {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  int access = 0;
};
Asked& asked() {
  static Asked the_question;
  return the_question;
}

/// No library made its regions, so they are not deregistered.
struct Answer {
  explicit Answer(verbs::MemoryRegion made) : region(std::move(made)) {}
  ~Answer() { (void)region.release(); }
  verbs::MemoryRegion region;
};

Library registering() {
  static ibv_mr region{};
  Library table = made_up();
  table.reg_mr_iova2 = [](ibv_pd*, void* address, std::size_t bytes, std::uint64_t,
                          unsigned access) {
    asked() = {.address = reinterpret_cast<std::uintptr_t>(address),
               .bytes = bytes,
               .access = static_cast<int>(access)};
    return &region;
  };
  return table;
}

}  // namespace

TEST_CASE("optional access flags reach the call that knows them", "[verbs]") {
  std::array<std::byte, 64> memory{};
  const Answer answer(verbs::register_memory(registering(), nullptr, memory.data(), memory.size(),
                                             IBV_ACCESS_RELAXED_ORDERING));
  CHECK(answer.region);
  CHECK(asked().address == reinterpret_cast<std::uintptr_t>(memory.data()));
  CHECK(asked().bytes == 64);
  CHECK(asked().access == IBV_ACCESS_RELAXED_ORDERING);
}

TEST_CASE("a port that is down is reported instead of what the device noticed", "[verbs]") {
  const Error down = verbs::port_error(verbs::PortCondition::down, "sending", full);
  CHECK(down.code() == ErrorCode::system);
  CHECK(down.message() ==
        "sending failed: the port is down on rxe1 port 1, GID 10.77.1.1, to 10.77.1.2");
  CHECK(down.remedy().find("ip link") != std::string::npos);
  const Error gone = verbs::port_error(verbs::PortCondition::gone, "receiving", full);
  CHECK(gone.code() == ErrorCode::system);
  CHECK(gone.message().starts_with("receiving failed: the device is gone on rxe1 port 1"));
  CHECK(gone.remedy().find("dmesg") != std::string::npos);
}

TEST_CASE("every completion status has words of its own, and a remedy", "[verbs]") {
  std::set<std::string> texts;
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    const Error error =
        verbs::completion_error(static_cast<ibv_wc_status>(status), 0x81, "sending", full);
    CAPTURE(status, error.what());
    CHECK((error.rank() == 1 && error.peer() == 3 && !error.remedy().empty()));
    CHECK(error.message().starts_with("sending failed: "));
    CHECK(error.message().ends_with(
        " (vendor's code 0x81) on rxe1 port 1, GID 10.77.1.1, to 10.77.1.2"));
    CHECK(error.message().find("unknown") == std::string::npos);
    CHECK(texts.insert(error.message()).second);
    CHECK(verbs::is_flush(static_cast<ibv_wc_status>(status)) == (status == IBV_WC_WR_FLUSH_ERR));
  }
  const Error newer =
      verbs::completion_error(static_cast<ibv_wc_status>(31), 0, "receiving", Link{});
  CHECK(newer.message() == "receiving failed: unknown status 31");
}

TEST_CASE("the failures that people meet name the likely cause", "[verbs]") {
  const Error gone = verbs::completion_error(IBV_WC_RETRY_EXC_ERR, 0, "sending", full);
  CHECK(gone.code() == ErrorCode::peer_lost);
  for (const char* hint : {"process", "RONDO_IB_GID_INDEX", "4791", "PFC", "RONDO_IB_TIMEOUT"})
    CHECK(gone.remedy().find(hint) != std::string::npos);
  CHECK(std::string(gone.what()).starts_with("rondo: rank 1: sending failed: retries exceeded"));
  CHECK(verbs::completion_error(IBV_WC_RNR_RETRY_EXC_ERR, 0, "sending", full).code() ==
        ErrorCode::timeout);
  CHECK(verbs::completion_error(IBV_WC_REM_ACCESS_ERR, 0, "sending", full).code() ==
        ErrorCode::internal);
  CHECK(verbs::completion_error(IBV_WC_WR_FLUSH_ERR, 0, "sending", full).remedy() ==
        "look for the first error, on this rank and on the peer");
}

TEST_CASE("every asynchronous event says whom it ends", "[verbs]") {
  std::set<std::string> texts;
  for (int event = IBV_EVENT_CQ_ERR; event <= IBV_EVENT_WQ_FATAL; ++event) {
    const auto report = verbs::event_report(static_cast<ibv_event_type>(event), full);
    CAPTURE(event, report.error.what());
    CHECK(report.error.message().find("unknown") == std::string::npos);
    CHECK(report.error.message().find(" on rxe1 port 1") != std::string::npos);
    CHECK((report.reach == Reach::nobody || !report.error.remedy().empty()));
    CHECK(texts.insert(report.error.message()).second);
  }
  const auto reach = [](ibv_event_type event) { return verbs::event_report(event, full).reach; };
  CHECK(reach(IBV_EVENT_DEVICE_FATAL) == Reach::device);
  CHECK(reach(IBV_EVENT_PORT_ERR) == Reach::port);
  CHECK(reach(IBV_EVENT_PORT_ACTIVE) == Reach::back);
  CHECK(reach(IBV_EVENT_QP_FATAL) == Reach::queue);
  CHECK(reach(IBV_EVENT_GID_CHANGE) == Reach::warning);
  CHECK(reach(static_cast<ibv_event_type>(31)) == Reach::warning);
  for (const auto type : {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_GID_CHANGE}) {
    const ibv_async_event event{.element = {.port_num = 2}, .event_type = type};
    CHECK((verbs::concerns(event, 2) && !verbs::concerns(event, 1)));
  }
}

TEST_CASE("a verb that fails names what to change", "[verbs]") {
  const Error memory = verbs::call_error("registering 4096 bytes", ENOMEM, full);
  CHECK(memory.code() == ErrorCode::out_of_memory);
  CHECK(memory.message().starts_with("registering 4096 bytes failed: Cannot allocate memory"));
  CHECK(memory.remedy().find("ulimit -l") != std::string::npos);
  CHECK(verbs::call_error("x", ETIMEDOUT, full).code() == ErrorCode::peer_lost);
  CHECK(verbs::call_error("x", EINVAL, full).remedy().find("RONDO_IB_GID_INDEX") !=
        std::string::npos);
  for (const int error : {EACCES, EPERM, EHOSTUNREACH, ENETUNREACH, ENOSYS, ENODEV, EIO, ENOSPC})
    CHECK_FALSE(verbs::call_error("x", error, Link{}).remedy().empty());
}

TEST_CASE("links as text leave out what is not known", "[verbs]") {
  CHECK(to_text(Link{}).empty());
  CHECK(to_text(Link{.device = "mlx5_0"}) == "mlx5_0");
  CHECK(to_text(Link{.device = "mlx5_0", .port = 2}) == "mlx5_0 port 2");
  CHECK(to_text(full) == "rxe1 port 1, GID 10.77.1.1, to 10.77.1.2");
}

}  // namespace rondo::testing
