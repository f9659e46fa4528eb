// Bootstrap over TCP: ranks that join, ranks that do not, and strangers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/base/log.h"
#include "core/control/connect.h"
#include "core/control/control.h"
#include "core/control/message.h"
#include "core/control/service.h"
#include "tests/catch.h"
#include "tests/control/processes.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds long_enough{30000};

HostInfo child_host() {
  auto host = this_host("");
  host.hostname = "x";
  host.pid = 77;
  return host;
}

BootstrapPoint point_at(int port) {
  return {.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)};
}

/// A rank that meets the others, hears their names and leaves.
std::string meet_and_exchange(int port, int rank, int ranks, milliseconds deadline) {
  const auto control = meet(point_at(port), rank, ranks, rank == 0, child_host(), deadline);
  std::vector<int> members;
  for (int member = 0; member < ranks; ++member) members.push_back(member);
  const auto channel = control->open(0, members);
  std::string text;
  for (int round = 0; round < 3; ++round) {
    text.clear();
    for (const auto& blob : channel->exchange(std::to_string(rank))) text += blob;
  }
  return text;
}

sockaddr_in here_at(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd listen_plainly(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = here_at(port);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(socket.get(), 8) == 0);
  return socket;
}

UniqueFd connect_plainly(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = here_at(port);
  const bool connected = eventually([&] {
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
           0;
  });
  if (!connected) throw std::runtime_error("nobody listens");
  return socket;
}

TEST_CASE("processes meet and exchange, whatever their number") {
  for (const int ranks : {1, 2, 5, 16}) {
    const int port = free_port();
    const auto reports = run_ranks(
        ranks, [&](int rank) { return meet_and_exchange(port, rank, ranks, long_enough); });
    std::string expected;
    for (int rank = 0; rank < ranks; ++rank) expected += std::to_string(rank);
    for (const auto& report : reports) CHECK(report == expected);
  }
}

TEST_CASE("rank 0 may come last") {
  const int port = free_port();
  std::vector<Child> children;
  for (const int rank : {1, 2}) {
    children.emplace_back([=] { return meet_and_exchange(port, rank, 3, long_enough); });
  }
  // The others have begun to connect once a stray listener has accepted one of them.
  {
    const UniqueFd listener = listen_plainly(port);
    const UniqueFd heard(::accept(listener.get(), nullptr, nullptr));
    REQUIRE(heard.get() >= 0);
  }
  children.emplace_back([=] { return meet_and_exchange(port, 0, 3, long_enough); });
  for (auto& child : children) CHECK(child.report() == "012");
}

TEST_CASE("ranks that do not come are named to those that came") {
  const int port = free_port();
  std::vector<Child> children;
  for (const int rank : {0, 1, 3, 4}) {
    children.emplace_back([=] { return meet_and_exchange(port, rank, 8, milliseconds{6000}); });
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    const int rank = std::vector<int>{0, 1, 3, 4}[i];
    CHECK(children[i].report() ==
          "rondo: rank " + std::to_string(rank) + ": ranks 2, 5-7 of 8 did not join at port " +
              std::to_string(port) +
              " of x within 6 s [peer rank 2]. Try: check that every rank was started, with the "
              "same MASTER_ADDR and MASTER_PORT (or RONDO_PORT), and can reach that port, or raise "
              "RONDO_BOOTSTRAP_TIMEOUT");
  }
}

TEST_CASE("without rank 0 the others say where they looked") {
  const int port = free_port();
  Child child([=] { return meet_and_exchange(port, 1, 2, milliseconds{200}); });
  CHECK(child.report() ==
        "rondo: rank 1: cannot join rank 0 at 127.0.0.1, port " + std::to_string(port) +
            " within 0.2 s: Connection refused [peer rank 0]. Try: check that rank 0 runs, that "
            "every rank has the machine and port of rank 0 in MASTER_ADDR and MASTER_PORT (or "
            "RONDO_PORT), and that no firewall blocks the port");
}

TEST_CASE("a bootstrap that nobody serves is named in the way the ranks were told of it") {
  const BootstrapPoint by_id{.address = "127.0.0.1",
                             .port = static_cast<std::uint16_t>(free_port()),
                             .magic = 7,
                             .named_by = "unique id"};
  const BootstrapPoint by_variable{
      .address = "127.0.0.1", .port = by_id.port, .named_by = "NCCL_COMM_ID"};
  const auto report_of = [](const BootstrapPoint& point) {
    return Child([&] {
             meet(point, 1, 2, false, child_host(), milliseconds{200});
             return std::string();
           })
        .report();
  };
  const std::string place =
      "127.0.0.1, port " + std::to_string(by_id.port) + " within 0.2 s: Connection refused";
  CHECK(
      report_of(by_id) ==
      "rondo: rank 1: cannot join the process that made the unique id, at " + place +
          ". Try: check that every rank has the unique id of this run, that the process that made "
          "it still lives, and that no firewall blocks the port");
  CHECK(report_of(by_variable) ==
        "rondo: rank 1: cannot join rank 0 at " + place +
            " [peer rank 0]. Try: check that rank 0 runs, that every rank has the machine and port "
            "of "
            "rank 0 in NCCL_COMM_ID, and that no firewall blocks the port");
}

TEST_CASE("an unknown host name is named in the error") {
  Child child([] {
    meet({.address = "no.such.host.invalid", .port = 1}, 1, 2, false, child_host(),
         milliseconds{100});
    return std::string();
  });
  CHECK(says(child.report(), "the name no.such.host.invalid is not known"));
}

TEST_CASE("a rank that comes twice ends the bootstrap for all") {
  const int port = free_port();
  std::vector<Child> children;
  for (const int rank : {0, 2, 2}) {
    children.emplace_back([=] { return meet_and_exchange(port, rank, 4, long_enough); });
  }
  for (auto& child : children) {
    const auto report = child.report();
    CHECK(says(report, "two processes joined as rank 2: host x, pid 77 and host x, pid 77"));
    CHECK(says(report, "Try: give every process a RANK of its own"));
  }
}

TEST_CASE("ranks that disagree on the world's size end the bootstrap for all") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 4, long_enough); });
  Child one([=] { return meet_and_exchange(port, 1, 8, long_enough); });
  for (Child* child : {&zero, &one}) {
    const auto report = child->report();
    CHECK(says(report, "rank 1 (host x, pid 77) counts 8"));
    CHECK(says(report, "rank 0 (host x, pid 77) counts 4"));
    CHECK(says(report, "Try: set the same WORLD_SIZE on every rank"));
  }
}

TEST_CASE("rank 0 that may not hold a connection for each rank says so to all") {
  const int port = free_port();
  for (const std::string& report : run_ranks(2, [&](int rank) {
         rlimit limit{};
         ::getrlimit(RLIMIT_NOFILE, &limit);
         limit.rlim_cur = limit.rlim_max = 200;
         if (rank == 0) ::setrlimit(RLIMIT_NOFILE, &limit);
         return meet_and_exchange(port, rank, 300, long_enough);
       })) {
    CHECK(says(report, "rank 0's process may hold 200 open files"));
    CHECK(says(report, "one for each of 300 ranks"));
    CHECK(says(report, "ulimit -n"));
  }
}

TEST_CASE("a rank beyond the world is refused before it goes anywhere") {
  CHECK_THROWS_WITH(meet(point_at(1), 4, 4, false, child_host(), milliseconds{1}),
                    "rondo: rank 4: rank 4 of a world of 4 ranks: ranks go from 0 to one less than "
                    "the number of ranks. Try: correct RANK and WORLD_SIZE");
}

TEST_CASE("a port in use is an error that names it") {
  const control::Service service(point_at(0), child_host());
  try {
    meet(point_at(service.port()), 0, 2, true, child_host(), long_enough);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bootstrap);
    CHECK(error.message() == "cannot listen on port " + std::to_string(service.port()) +
                                 " of x: Address already in use");
    CHECK(says(error.remedy(), "choose a free port, the same on every rank, with MASTER_ADDR and"));
  }
}

TEST_CASE("strangers on the port do not disturb the bootstrap") {
  const int port = free_port();
  const auto log_file =
      std::filesystem::temp_directory_path() / ("rondo_strangers." + std::to_string(::getpid()));
  Child zero([&] {
    configure_log({.file = log_file.string()});
    return meet_and_exchange(port, 0, 3, long_enough);
  });
  const auto silent = connect_plainly(port);
  const auto web = connect_plainly(port);
  ::send(web.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  const auto half = connect_plainly(port);
  ::send(half.get(), "RONDO", 5, MSG_NOSIGNAL);
  const auto noise = connect_plainly(port);
  ::send(noise.get(), "\x00\xff\x01\x02", 4, MSG_NOSIGNAL);
  const auto huge = connect_plainly(port);
  const auto greeting =
      encode(control::Preamble{.magic = control::default_magic(static_cast<std::uint16_t>(port))}) +
      "\xff\xff\xff\xff";
  ::send(huge.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  const auto another_job = connect_plainly(port);
  const auto other = encode(control::Preamble{.magic = 5});
  ::send(another_job.get(), other.data(), other.size(), MSG_NOSIGNAL);
  Child one([=] { return meet_and_exchange(port, 1, 3, long_enough); });
  Child two([=] { return meet_and_exchange(port, 2, 3, long_enough); });
  CHECK(zero.report() == "012");
  CHECK(one.report() == "012");
  CHECK(two.report() == "012");
  std::ifstream file(log_file);
  const std::string logged((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  std::filesystem::remove(log_file);
  CHECK(says(logged, "WARN  dropped a connection from 127.0.0.1:"));
  CHECK(says(logged, " that named no rank: it sent 'GET / HTTP/1.1..'"));
  CHECK(says(logged, " that named no rank: it sent a message of 4294967295 bytes"));
  CHECK(says(logged, "refused a rank of another job from 127.0.0.1:"));
}

TEST_CASE("another version of the protocol ends the bootstrap for all") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 2, long_enough); });
  const auto future = connect_plainly(port);
  const auto greeting =
      encode(control::Preamble{.version = control::protocol_version + 1,
                               .magic = control::default_magic(static_cast<std::uint16_t>(port))});
  ::send(future.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  const auto version = std::to_string(control::protocol_version);
  const auto later = std::to_string(control::protocol_version + 1);
  CHECK(says(zero.report(), "speaks version " + later +
                                " of the control protocol, the others version " + version));
}

TEST_CASE("a rank that dies during the bootstrap ends it for all") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 3, long_enough); });
  {
    const auto dying = connect_plainly(port);
    const auto hello =
        encode(
            control::Preamble{.magic = control::default_magic(static_cast<std::uint16_t>(port))}) +
        encode(control::Message(control::Hello{.rank = 1, .ranks = 3, .host = child_host()}));
    ::send(dying.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    char byte = 0;
    ::recv(dying.get(), &byte, 1, 0);  // greeted: the hello is on its way in
  }
  CHECK(says(zero.report(), "rank 1 (host x, pid 77) joined and left before all ranks had joined"));
}

/// A service that greets the first rank that connects, and ends.
std::string greet_and_end(UniqueFd listener, std::uint64_t magic) {
  const UniqueFd guest(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  listener.reset();
  const std::string greeting = control::encode(control::Preamble{.magic = magic});
  if (::write(guest.get(), greeting.data(), greeting.size()) < 0) return "?";
  ::shutdown(guest.get(), SHUT_WR);
  std::array<char, 1000> unread{};
  while (::read(guest.get(), unread.data(), unread.size()) > 0) {
  }
  return "greeted";
}

TEST_CASE("the end of a service during the bootstrap is told, at once where no other can come") {
  for (const bool by_id : {false, true}) {
    BootstrapPoint point = point_at(free_port());
    if (by_id) point.magic = 7;
    UniqueFd listener = listen_plainly(point.port);
    const Gate up;
    Child service([&] {
      up.open(1);
      return greet_and_end(std::move(listener),
                           by_id ? point.magic : control::default_magic(point.port));
    });
    listener.reset();
    up.pass();
    Child rank([&]() -> std::string {
      meet(point, 1, 2, false, child_host(), by_id ? long_enough : milliseconds{6000});
      return "met";
    });
    CHECK(says(rank.report(), by_id ? "the process that made the unique id, at 127.0.0.1, port " +
                                          std::to_string(point.port) +
                                          ", ended, died or was killed before all ranks had joined"
                                    : "; an earlier rank 0 there has ended"));
    CHECK(service.report() == "greeted");
  }
}

TEST_CASE("a service for a unique id is met by every rank, over IPv4 or IPv6") {
  Child all([] {
    const auto point = serve_bootstrap("lo", AddressFamily::any);
    std::vector<std::string> texts(3);
    test::on_all_ranks(3, [&](int rank) {
      auto mine = point;
      if (rank == 2) mine.address = "localhost";
      const auto control = meet(mine, rank, 3, false, child_host(), long_enough);
      const auto channel = control->open(0, {0, 1, 2});
      for (const auto& blob : channel->exchange(std::to_string(rank))) texts[rank] += blob;
    });
    return texts[0] + " " + texts[1] + " " + texts[2];
  });
  CHECK(all.report() == "012 012 012");
}

// A process may end without the destructors of its static objects, as forked ones do.
TEST_CASE("a process that served a unique id and ends at once fails no other rank") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd reads(ends[0]);
  const UniqueFd writes(ends[1]);
  Child zero([&] {
    const auto point = serve_bootstrap("lo", AddressFamily::any);
    const std::array<std::uint64_t, 2> told{point.port, point.magic};
    if (::write(writes.get(), told.data(), sizeof(told)) != sizeof(told)) return std::string("?");
    const auto control = meet(point, 0, 2, false, child_host(), long_enough);
    return std::to_string(control->open(0, {0, 1})->exchange("x").size());
  });
  Child one([&] {
    std::array<std::uint64_t, 2> told{};
    if (::read(reads.get(), told.data(), sizeof(told)) != sizeof(told)) return std::string("?");
    auto point = point_at(static_cast<int>(told[0]));
    point.magic = told[1];
    const auto control = meet(point, 1, 2, false, child_host(), long_enough);
    const auto channel = control->open(0, {0, 1});
    channel->exchange("x");
    try {
      channel->exchange("y");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("?");
  });
  CHECK(zero.report() == "2");
  CHECK(says(one.report(), "has left the communicator"));
}

}  // namespace
}  // namespace rondo
