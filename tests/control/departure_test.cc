// What stays of a world when rank 0 leaves, in whose process it is served.
#include "core/control/control.h"
#include "core/control/served.h"
#include "tests/catch.h"
#include "tests/control/processes.h"

namespace rondo {
namespace {

std::shared_ptr<Control> join(int port, int rank, int ranks) {
  return meet({.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, rank, ranks,
              rank == 0, this_host(""), std::chrono::seconds{30});
}

/// Every member's world rank, as an exchange over a new channel tells it.
std::string exchange_ranks(Control& control, std::uint64_t number, std::vector<int> members) {
  std::string text;
  const auto channel = control.open(number, std::move(members));
  for (const auto& blob : channel->exchange(std::to_string(control.rank()))) text += blob;
  return text;
}

TEST_CASE("ranks make communicators after rank 0 has left, as long as its process runs") {
  const int port = free_port();
  const Gate left;
  const Gate done;
  Child zero([&] {
    const auto text = exchange_ranks(*join(port, 0, 3), 0, {0, 1, 2});
    left.open(2);
    for (int rank = 1; rank < 3; ++rank) done.pass();
    // A child ends without static destructors, which would join the service's thread.
    control::Served::all()->end_unused(static_cast<std::uint16_t>(port));
    return text;
  });
  std::vector<Child> others;
  for (int rank = 1; rank < 3; ++rank) {
    others.emplace_back([&, rank] {
      const auto control = join(port, rank, 3);
      auto text = exchange_ranks(*control, 0, {0, 1, 2});
      left.pass();
      try {
        text += " " + exchange_ranks(*control, 1, {1, 2});
      } catch (const Error& error) {
        text += error.what();
      }
      done.open(1);
      return text;
    });
  }
  for (auto& other : others) CHECK(other.report() == "012 12");
  CHECK(zero.report() == "012");
}

TEST_CASE("the processes of a world meet again at the same port") {
  const int port = free_port();
  const auto reports = run_ranks(3, [&](int rank) {
    std::string text;
    for (int world = 0; world < 3; ++world)
      text += exchange_ranks(*join(port, rank, 3), 0, {0, 1, 2}) + " ";
    return text;
  });
  for (const auto& report : reports) CHECK(report == "012 012 012 ");
}

}  // namespace
}  // namespace rondo
