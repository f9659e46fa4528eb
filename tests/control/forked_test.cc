// Ranks that end while a child which they forked goes on: it is not taken for them.
#include <signal.h>
#include <unistd.h>

#include "core/control/control.h"
#include "tests/catch.h"
#include "tests/control/processes.h"

namespace rondo {
namespace {

std::shared_ptr<Control> join(int port, int rank, int ranks) {
  return meet({.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, rank, ranks,
              rank == 0, this_host(""), std::chrono::seconds{30});
}

/// Forks a child that lives until the gate opens. Returns once the child runs: until then it still
/// holds all that its parent has open.
void leave_a_child(const Gate& gate) {
  const Gate running;
  if (::fork() != 0) return running.pass();
  running.open(1);
  ::alarm(60);  // where the test fails before it opens the gate
  gate.pass();
  ::_exit(0);
}

TEST_CASE("a rank that is killed is dead, whatever a child that it forked still holds") {
  constexpr int ranks = 3;
  for (const int victim : {0, 2}) {  // the one that serves, and one of the others
    const int port = free_port();
    const Gate gate;
    std::vector<Child> children;
    for (int rank = 0; rank < ranks; ++rank) {
      children.emplace_back([&, rank]() -> std::string {
        const auto control = join(port, rank, ranks);
        const auto channel = control->open(0, {0, 1, 2});
        channel->exchange("ready");
        if (rank == victim) {
          leave_a_child(gate);
          ::kill(::getpid(), SIGKILL);
        }
        return eventually([&] { return channel->failed(); }) ? channel->failure().what()
                                                             : "no failure";
      });
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      const std::string report = children[static_cast<std::size_t>(rank)].report();
      CHECK(says(report, "rank " + std::to_string(victim) + " (host "));
      CHECK(says(report, "ended, died or was killed"));
    }
    gate.open(1);
  }
}

TEST_CASE("a child that its rank forked does not hold the port of the bootstrap") {
  const int port = free_port();
  const Gate gate;
  const Gate forked;
  {
    const Child first([&]() -> std::string {
      const auto control = join(port, 0, 1);
      leave_a_child(gate);
      forked.open(1);
      for (;;) ::pause();
    });
    forked.pass();
  }  // killed
  Child second([&]() -> std::string {
    join(port, 0, 1);
    return "met";
  });
  CHECK(second.report() == "met");
  gate.open(1);
}

}  // namespace
}  // namespace rondo
