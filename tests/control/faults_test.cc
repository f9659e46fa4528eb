// The errors of the other ranks when one is killed, stopped, disagrees, stays away or leaves.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/control/control.h"
#include "tests/catch.h"
#include "tests/control/processes.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds long_enough{30000};

HostInfo child_host() {
  auto host = this_host("");
  host.hostname = "x";
  return host;
}

std::vector<int> everyone(int ranks) {
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank) members.push_back(rank);
  return members;
}

/// A rank of a world over TCP with its world channel open.
struct Rank {
  Rank(int port, int rank, int ranks, milliseconds deadline = long_enough)
      : control(meet({.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, rank,
                     ranks, rank == 0, child_host(), deadline)),
        channel(control->open(0, everyone(ranks))) {
    channel->set_timeout(std::chrono::seconds{300});
    channel->exchange("ready");
  }
  std::string failure(ControlChannel& of) const {
    return eventually([&] { return of.failed(); }) ? of.failure().what() : "no failure";
  }
  std::string failure() const { return failure(*channel); }

  std::shared_ptr<Control> control;
  std::shared_ptr<ControlChannel> channel;
};

/// Pid `pid` as the reports write it, replaced by "PID" so that texts can be compared.
std::string without_pid(std::string text, int pid) {
  const auto digits = std::to_string(pid);
  for (auto at = text.find("pid " + digits); at != std::string::npos;
       at = text.find("pid " + digits)) {
    text.replace(at, 4 + digits.size(), "PID");
  }
  return text;
}

/// A rank that is ready, then waits to be killed or stopped.
std::string be_a_victim(int port, int rank, int ranks, const std::function<void(Rank&)>& act) {
  Rank self(port, rank, ranks);
  act(self);
  for (;;) ::pause();
}

Call sum_of(std::uint64_t sequence, std::uint64_t count) {
  return {.sequence = sequence,
          .count = count,
          .collective = Collective::all_reduce,
          .type = DataType::float32};
}

TEST_CASE("a rank that kills itself is named by its number, host and pid") {
  for (const int victim : {0, 2}) {
    const int port = free_port();
    std::vector<Child> children;
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == victim) {
        children.emplace_back(
            [=] { return be_a_victim(port, rank, 4, [](Rank&) { ::kill(::getpid(), SIGKILL); }); });
      } else {
        children.emplace_back([=] { return Rank(port, rank, 4).failure(); });
      }
    }
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      const auto name = std::to_string(victim);
      CHECK(without_pid(children[rank].report(), children[victim].pid()) ==
            "rondo: rank " + std::to_string(rank) + ": rank " + name +
                " (host x, PID) ended, died or was killed [peer rank " + name +
                "]. Try: look at the end of its output, or the kernel's log, for why; a rank that "
                "ends "
                "in order destroys its communicators first");
    }
  }
}

TEST_CASE("only communicators with the dead rank fail; its place in them is named") {
  const int port = free_port();
  std::vector<Child> children = start_ranks(4, [=](int rank) -> std::string {
    Rank self(port, rank, 4);
    const bool odd = rank % 2 == 1;
    const auto half =
        self.control->open(odd ? 2 : 1, odd ? std::vector<int>{3, 1} : std::vector<int>{0, 2});
    half->exchange("");
    self.channel->exchange("");
    if (rank == 1) ::kill(::getpid(), SIGKILL);
    self.failure();
    return odd ? self.failure(*half) : half->failed() ? "failed" : "fine";
  });
  CHECK(children[0].report() == "fine");
  CHECK(children[2].report() == "fine");
  CHECK(says(children[3].report(), "rondo: rank 0: rank 1 (host x, pid "));
}

TEST_CASE("where a member's place is not its world rank, both are told") {
  const int port = free_port();
  std::vector<Child> children = start_ranks(3, [=](int rank) -> std::string {
    Rank self(port, rank, 3);
    if (rank == 0) return self.failure();
    const auto pair = self.control->open(1, {2, 1});
    pair->exchange("");
    if (rank == 2) ::kill(::getpid(), SIGKILL);
    return self.failure(*pair);
  });
  CHECK(says(children[1].report(), "rondo: rank 1: rank 0 (world rank 2, host x, pid "));
  CHECK(says(children[0].report(), "rondo: rank 0: rank 2 (host x, pid "));
}

TEST_CASE("a stopped rank counts as silent, whether it serves or not") {
  for (const int victim : {0, 1}) {
    const int port = free_port();
    const Gate entered;
    const Gate gate;
    Child stopped([&] {
      return be_a_victim(port, victim, 3, [&](Rank& self) {
        self.channel->exchange("");
        entered.pass();
        entered.pass();
        ::raise(SIGSTOP);
      });
    });
    std::vector<Child> others;
    for (const int rank : {(victim + 1) % 3, (victim + 2) % 3}) {
      others.emplace_back([&, rank] {
        Rank self(port, rank, 3);
        self.channel->calls().begin(sum_of(1, 4));
        self.channel->exchange("");
        entered.open(1);
        gate.pass();
        self.channel->report_stall(true);
        return self.failure();
      });
    }
    stopped.wait_until_stopped();
    gate.open(2);
    for (auto& other : others) {
      const auto report = other.report();
      CHECK(says(report, "all_reduce #1 (4 x float32, sum) did not complete within 300 s"));
      CHECK(says(report, "rank " + std::to_string(victim) + " (host x, pid "));
      CHECK(says(report, "[peer rank " + std::to_string(victim) + "]"));
      CHECK(says(report, "does not answer"));
    }
  }
}

TEST_CASE("processes that disagree are told both sides, by a stall or by a wrong frame") {
  for (const bool by_frame : {false, true}) {
    const int port = free_port();
    std::vector<Child> children = start_ranks(3, [=](int rank) -> std::string {
      Rank self(port, rank, 3);
      self.channel->calls().begin(sum_of(3, rank == 2 ? 8 : 4));
      self.channel->exchange("");
      if (rank == 0 && by_frame) self.channel->report_mismatch(2, 3);
      // Asks again and again, as a communicator does, since ranks that answer late are not named.
      const auto ask = [&] {
        self.channel->report_stall(false);
        return self.channel->failed();
      };
      if (rank == 0 && !by_frame) eventually(ask);
      return self.failure();
    });
    for (auto& child : children) {
      CHECK(says(child.report(),
                 "ranks 0, 1 call all_reduce #3 (4 x float32, sum) but rank 2 calls all_reduce #3 "
                 "(8 x float32, sum)"));
    }
  }
}

TEST_CASE("a wrong frame ends in an error even where the logs do not explain it") {
  const int port = free_port();
  std::vector<Child> children = start_ranks(2, [=](int rank) -> std::string {
    Rank self(port, rank, 2);
    if (rank == 0) self.channel->calls().begin(sum_of(1, 4));
    self.channel->exchange("");
    if (rank == 0) self.channel->report_mismatch(1, 1);
    return self.failure();
  });
  CHECK(says(children[0].report(),
             "rondo: rank 0: rank 0 is in all_reduce #1 (4 x float32, sum) but was sent data of "
             "another call by rank 1 (host x, pid "));
  CHECK(says(children[1].report(), "[peer rank 0]"));
}

TEST_CASE("a send that nobody receives ends at the deadline and names the peer") {
  const int port = free_port();
  std::vector<Child> children = start_ranks(2, [=](int rank) -> std::string {
    Rank self(port, rank, 2);
    if (rank == 0) {
      self.channel->report_stall_on(1, "send (4 x float32) to rank 1", false);
      self.channel->report_stall_on(1, "send (4 x float32) to rank 1", true);
    }
    return self.failure();
  });
  const auto report = children[0].report();
  CHECK(says(report,
             "rondo: rank 0: send (4 x float32) to rank 1 did not complete within 300 s: "
             "rank 1 (host x, pid "));
  CHECK(says(report, "has not reached it; it has made no call yet"));
  CHECK(says(report, "[in send (4 x float32) to rank 1]"));
  CHECK(says(children[1].report(), "[peer rank 0]"));
}

TEST_CASE("an abort reaches every process") {
  const int port = free_port();
  const auto reports = run_ranks(4, [&](int rank) {
    Rank self(port, rank, 4);
    if (rank == 3)
      self.channel->fail(Error(ErrorCode::aborted, "the communicator was aborted: enough"));
    return self.failure();
  });
  CHECK(reports[3] == "rondo: rank 3: the communicator was aborted: enough");
  CHECK(reports[0] ==
        "rondo: rank 0: rank 3 reports: the communicator was aborted: enough [peer rank 3]");
}

TEST_CASE("ranks may leave in any order, and no one is thought dead") {
  const std::vector<std::vector<int>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    const int port = free_port();
    // gates[i] lets the i-th of the order go; each one that has left lets the next one go.
    const std::array<Gate, 3> gates;
    gates[0].open(1);
    std::vector<Child> children;
    for (int rank = 0; rank < 3; ++rank) {
      const auto place =
          static_cast<std::size_t>(std::find(order.begin(), order.end(), rank) - order.begin());
      children.emplace_back([&, rank, place]() -> std::string {
        Rank self(port, rank, 3);
        gates[place].pass();
        const bool failed = self.channel->failed();
        self.channel->leave();
        // The next rank may leave before this one is gone: the service stays for the others.
        if (place < 2) gates[place + 1].open(1);
        self.channel.reset();
        self.control.reset();
        return failed ? "failed" : "fine";
      });
    }
    for (auto& child : children) CHECK(child.report() == "fine");
  }
}

TEST_CASE("when rank 0 has ended in order another rank serves, and finds who dies later") {
  const int port = free_port();
  const Gate closing, left, gone;
  std::vector<Child> children = start_ranks(5, [&](int rank) -> std::string {
    Rank self(port, rank, 5);
    auto rest = rank == 0 ? nullptr : self.control->open(1, {1, 2, 3, 4});
    if (rest != nullptr) rest->exchange("");
    self.channel->leave();
    self.channel.reset();
    if (rank == 0) {
      self.control.reset();  // waits a few seconds for the others, and says that it may end
      closing.open(1);
      left.pass();
      return "gone";
    }
    if (rank == 4) {  // ends in order, too, while the process of rank 0 still serves
      closing.pass();
      rest.reset();
      self.control.reset();
      left.open(1);
      return "left";
    }
    gone.pass();
    const auto next = self.control->open(2, {3, 1, 2});
    next->exchange("");
    if (rank == 2) ::kill(::getpid(), SIGKILL);
    const std::string failure = self.failure(*rest) + "\n" + self.failure(*next);
    const auto living = rest->exchange_living("I", long_enough);
    return failure + (living[0] && !living[1] && living[2] ? ", two go on" : ", and who lives?");
  });
  CHECK(children[0].report() == "gone");
  CHECK(children[4].report() == "left");
  gone.open(3);
  const auto ended = [&](int rank, int place) {
    const std::string at = std::to_string(place);
    return "rondo: rank " + std::to_string(rank) + ": rank " + at +
           (place == 2 ? " (" : " (world rank 2, ") +
           "host x, PID) ended, died or was killed [peer rank " + at +
           "]. Try: look at the end of its output, or the kernel's log, for why; a rank that ends "
           "in order destroys its communicators first";
  };
  for (const int rank : {1, 3})
    CHECK(without_pid(children[rank].report(), children[2].pid()) ==
          ended(rank - 1, 1) + "\n" + ended(rank == 3 ? 0 : 1, 2) + ", two go on");
}

TEST_CASE("where an address leads each host to itself no rank can take over, and it is said why") {
  const int port = free_port();
  const Gate met;  // what rank 0 has not sent when it dies is lost
  std::vector<Child> children = start_ranks(2, [&](int rank) -> std::string {
    HostInfo host = child_host();
    host.host = "host " + std::to_string(rank);
    const auto control = meet({.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)},
                              rank, 2, rank == 0, host, long_enough);
    const auto channel = control->open(0, everyone(2));
    channel->exchange("");
    if (rank == 1) met.open(1);
    if (rank == 0) {
      met.pass();
      ::kill(::getpid(), SIGKILL);
    }
    eventually([&] { return channel->failed(); });
    try {
      channel->exchange_living("", long_enough);
    } catch (const Error& error) {
      return error.what();
    }
    return "it went on";
  });
  CHECK(says(children[1].report(),
             "no rank took over from the process that served the job: the ranks of several hosts "
             "had met at an address that leads each host to itself"));
}

TEST_CASE("ranks that wait after the service has gone know which ranks left before") {
  const int port = free_port();
  const Gate gone;
  // Ranks 0 and 1 leave after two calls and three. Then rank 2 serves itself.
  std::vector<Child> children = start_ranks(3, [&](int rank) -> std::string {
    Rank self(port, rank, 3);
    for (std::uint64_t call = 1; call <= 2 + static_cast<std::uint64_t>(rank); ++call) {
      self.channel->calls().begin(sum_of(call, 4));
      if (call < 4) self.channel->calls().complete(call);
    }
    const auto pair = rank == 1 ? nullptr : self.control->open(1, {0, 2});
    if (pair != nullptr) pair->exchange("");
    if (rank < 2) {
      if (pair != nullptr) pair->leave();
      self.channel->leave();
      return "gone";
    }
    gone.pass();
    self.control->open(2, {2})->exchange("");  // answered by the next service
    self.channel->report_stall(false);
    pair->report_stall_on(0, "recv of 4 x int8", false);
    return without_pid(self.failure() + "\n" + self.failure(*pair), self.control->hosts()[0].pid);
  });
  CHECK(children[0].report() == "gone");
  CHECK(children[1].report() == "gone");
  gone.open(1);
  CHECK(children[2].report() ==
        "rondo: rank 2: rank 0 (host x, PID) has left the communicator (its last call was "
        "all_reduce #2 (4 x float32, sum), complete), but rank 2 waits for it in all_reduce #4 (4 "
        "x float32, sum) [peer rank 0] [in all_reduce #4 (4 x float32, sum)]. Try: make every rank "
        "make the same calls before it finalizes\n"
        "rondo: rank 1: rank 0 (host x, PID) has left the communicator (it has made no call yet), "
        "but rank 1 waits for it in recv of 4 x int8 [peer rank 0] [in recv of 4 x int8]. Try: "
        "make every rank make the same calls before it finalizes");
}

TEST_CASE("a hundred communicators come and go over TCP") {
  const int port = free_port();
  const auto reports = run_ranks(3, [&](int rank) -> std::string {
    Rank self(port, rank, 3);
    for (std::uint64_t number = 1; number <= 100; ++number) {
      const auto channel = self.control->open(number, {2, 0, 1});
      if (channel->exchange(std::to_string(rank)) != std::vector<std::string>{"2", "0", "1"}) {
        return "wrong blobs";
      }
    }
    return self.channel->failed() ? "failed" : "fine";
  });
  CHECK(reports == std::vector<std::string>{"fine", "fine", "fine"});
}

}  // namespace
}  // namespace rondo
