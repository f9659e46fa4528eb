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
#include <optional>

#include "core/base/log.h"
#include "core/control/connect.h"
#include "core/control/control.h"
#include "core/control/credential.h"
#include "core/control/message.h"
#include "core/control/service.h"
#include "tests/catch.h"
#include "tests/control/speaker.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

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
                             .secret = secret_from("7"),
                             .by_id = true,
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

TEST_CASE("a service listens where the ranks were told it does, not elsewhere") {
  const auto answers = [](const control::Service& service, const char* address) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in target = here_at(service.port());
    ::inet_pton(AF_INET, address, &target.sin_addr);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0;
  };
  for (const char* address : {"127.0.0.1", "localhost"}) {
    const control::Service service({.address = address}, child_host());
    CHECK(service.address() == "127.0.0.1");
    CHECK(answers(service, "127.0.0.1"));
    CHECK_FALSE(answers(service, "127.0.0.2"));
  }
  for (const char* address : {"a.name.elsewhere", "192.0.2.1"}) {
    const control::Service service({.address = address}, child_host());
    CHECK(answers(service, "127.0.0.1"));
    CHECK(answers(service, "127.0.0.2"));
  }
}

TEST_CASE("a rank that meets another version of the protocol says so when its time is up") {
  const int port = free_port();
  UniqueFd listener = listen_plainly(port);
  const timeval patience{.tv_sec = 3, .tv_usec = 0};
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  Child service([&] {
    // Every second guest hears nothing, as from something slow: that takes nothing from what the
    // first was told.
    for (bool speaks = true;; speaks = !speaks) {
      const UniqueFd guest(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!guest) return std::string("no more guests");
      const auto later = encode(control::Preamble{.version = control::protocol_version + 1});
      if (speaks && ::write(guest.get(), later.data(), later.size()) < 0) return std::string("?");
      char byte = 0;
      while (::read(guest.get(), &byte, 1) > 0) {
      }
    }
  });
  listener.reset();
  CHECK(is_told_in_time(
      "speaks version " + std::to_string(control::protocol_version + 1) +
          " of the control protocol, this rank version " +
          std::to_string(control::protocol_version),
      [=](milliseconds deadline) { return meet_and_exchange(port, 1, 2, deadline); }));
  CHECK(service.report() == "no more guests");
}

TEST_CASE("a rank that dies during the bootstrap ends it for all") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 3, long_enough); });
  {
    Speaker dying(port);
    dying.introduce({});
    dying.say(encode(control::Message(hello_of(1, 3))));
    dying.next();  // known: the hello is on its way in
  }
  CHECK(says(zero.report(), "rank 1 (host x, pid 77) joined and left before all ranks had joined"));
}

/// A service that recognises the first rank that connects, and ends.
std::string recognise_and_end(UniqueFd listener, const Secret& secret) {
  Speaker guest(listener);
  listener.reset();
  guest.recognise(secret);
  guest.finish();
  return "greeted";
}

TEST_CASE("the end of a service during the bootstrap is told, at once where no other can come") {
  for (const bool by_id : {false, true}) {
    BootstrapPoint point = point_at(free_port());
    if (by_id) point.secret = secret_from("7");
    point.by_id = by_id;
    UniqueFd listener = listen_plainly(point.port);
    const Gate up;
    Child service([&] {
      up.open(1);
      return recognise_and_end(std::move(listener), point.secret);
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
  struct Told {
    int port = 0;
    Secret secret{};
  };
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd reads(ends[0]);
  const UniqueFd writes(ends[1]);
  Child zero([&] {
    const auto point = serve_bootstrap("lo", AddressFamily::any);
    const Told told{point.port, point.secret};
    if (::write(writes.get(), &told, sizeof(told)) != sizeof(told)) return std::string("?");
    const auto control = meet(point, 0, 2, false, child_host(), long_enough);
    return std::to_string(control->open(0, {0, 1})->exchange("x").size());
  });
  Child one([&] {
    Told told{};
    if (::read(reads.get(), &told, sizeof(told)) != sizeof(told)) return std::string("?");
    auto point = point_at(told.port);
    point.secret = told.secret;
    point.by_id = true;
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
