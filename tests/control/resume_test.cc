// A control connection that breaks while both processes live is replaced, and nobody notices.
#include <unistd.h>

#include <string>
#include <vector>

#include "core/control/service.h"
#include "tests/control/bad_path.h"
#include "tests/control/speaker.h"

namespace rondo {
namespace {

constexpr int ranks = 3;
constexpr std::size_t faults = 30;

/// Exchanges until the path has done its worst, and some more. How many were wrong.
std::string exchange_often(int port, int rank) {
  const auto control = meet(point_at(port), rank, ranks, rank == 0, child_host(), long_enough);
  const auto channel = control->open(0, {0, 1, 2});
  int wrong = 0;
  for (int round = 0; round < 1200; ++round) {
    const auto all = channel->exchange(std::to_string(100 * round + rank));
    for (int other = 0; other < ranks; ++other)
      wrong += all[static_cast<std::size_t>(other)] != std::to_string(100 * round + other);
  }
  return std::to_string(wrong) + " wrong";
}

TEST_CASE("exchanges are right over a path that breaks again and again") {
  for (const PathFault fault : {PathFault::cut, PathFault::reset, PathFault::flip}) {
    CAPTURE(static_cast<int>(fault));
    const int port = free_port();
    const int detour = free_port();
    const BadPath path(detour, port, fault, ranks - 1, faults);
    std::vector<Child> children;
    for (int rank = 0; rank < ranks; ++rank)
      children.emplace_back([=] { return exchange_often(rank == 0 ? port : detour, rank); });
    for (Child& child : children) CHECK(child.report() == "0 wrong");
    CHECK(path.faults() == faults);
  }
}

TEST_CASE("a rank whose process has ended is told as dead, however its connection ended") {
  const PathFault how = GENERATE(PathFault::cut, PathFault::reset);
  const int port = free_port();
  const int detour = free_port();
  const BadPath path(detour, port, how, 1, 0);
  const Gate met;
  Child zero([&] {
    const auto control = meet(point_at(port), 0, 2, true, child_host(), long_enough);
    const auto channel = control->open(0, {0, 1});
    channel->exchange("");
    met.open(1);
    eventually([&] { return channel->failed(); });
    return std::string(channel->failure().what());
  });
  Child one([&] {
    const auto control = meet(point_at(detour), 1, 2, false, child_host(), long_enough);
    const auto channel = control->open(0, {0, 1});
    channel->exchange("");
    for (;;) ::pause();
    return std::string();
  });
  met.pass();
  one.kill();
  CHECK(says(zero.report(), "rank 1 (host x, pid 77) ended, died or was killed [peer rank 1]"));
}

/// Joins by hand as rank 1 of 2, or comes back.
void join(Speaker& speaker, const control::Hello& hello) {
  speaker.introduce({});
  speaker.say(encode(control::Message(hello)));
  REQUIRE(std::holds_alternative<control::Credential>(*speaker.next()));
}

/// What a service says to one that comes back, after it came and its connection broke.
std::optional<control::Message> answer_to_return(const Nonce* another_session,
                                                 std::uint64_t received) {
  const int port = free_port();
  const control::Service service(point_at(port), child_host(), 2);
  Speaker zero(port);
  join(zero, hello_of(0, 2));
  control::Hello hello = hello_of(1, 2);
  {
    Speaker one(port);
    join(one, hello);
    REQUIRE(std::holds_alternative<control::Welcome>(*one.next()));
    one.say(encode(control::Message(control::Open{.communicator = 0, .members = {0, 1}})));
    one.say(encode(control::Message(control::Blob{.communicator = 0, .of_all = 1, .bytes = "1"})));
    zero.say(encode(control::Message(control::Open{.communicator = 0, .members = {0, 1}})));
    zero.say(encode(control::Message(control::Blob{.communicator = 0, .of_all = 1, .bytes = "0"})));
    REQUIRE(std::holds_alternative<control::Blobs>(*one.next()));
    hello.session = one.session();
  }
  if (another_session != nullptr) hello.session = *another_session;
  hello.received = received;
  Speaker again(port);
  join(again, hello);
  const auto welcome = again.next();
  if (!welcome || !std::holds_alternative<control::Welcome>(*welcome)) return welcome;
  CHECK(std::get<control::Welcome>(*welcome).received == 2);
  again.say(encode(control::Message(control::Bye{})));
  return again.next();
}

TEST_CASE("who comes back gets what it has not got yet, and nothing twice") {
  const auto missed = answer_to_return(nullptr, 0);
  REQUIRE(missed);
  REQUIRE(std::holds_alternative<control::Blobs>(*missed));
  CHECK(std::get<control::Blobs>(*missed).bytes == std::vector<std::string>{"0", "1"});
  CHECK_FALSE(answer_to_return(nullptr, 1));
  CHECK_FALSE(answer_to_return(nullptr, 1000));  // a lie takes nothing from the others
}

TEST_CASE("who comes back to another session is refused, with words") {
  const Nonce other{1, 2, 3};
  const auto answer = answer_to_return(&other, 0);
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<control::Refused>(*answer));
  CHECK(std::get<control::Refused>(*answer).message == "it serves another job now");
}

enum class Break {
  behind_welcome,  ///< by what cannot be read
  later,
  in_order,
};

/// Welcomes a rank of two, and breaks each connection. How often the rank came back.
std::string disappoint(UniqueFd listener, Break how) {
  control::Welcome welcome{.hosts = {child_host(), this_host("")}, .service = child_host()};
  welcome.standbys.resize(2);
  for (int returns = 0;; ++returns) {
    Speaker rank(listener);
    const control::Hello hello = rank.recognise({});
    if (returns > 0 && hello.session == Nonce{}) return std::to_string(returns - 1);
    const std::string broken = std::string(12, '?');
    const std::string welcomed = encode(control::Message(welcome));
    rank.say(how == Break::behind_welcome && returns > 0 ? welcomed + broken : welcomed);
    if (how == Break::later) rank.say(broken);
    rank.finish();
  }
}

TEST_CASE("a rank gives up a coordinator whose every connection breaks at once") {
  for (const Break how : {Break::behind_welcome, Break::later, Break::in_order}) {
    const int port = free_port();
    UniqueFd listener = listen_plainly(port);
    const Gate counted;
    Child service([&] { return disappoint(std::move(listener), how); });
    listener.reset();
    Child rank([&] {
      const auto control = meet(point_at(port), 1, 2, false, child_host(), long_enough);
      const auto channel = control->open(0, {0, 1});
      eventually([&] { return channel->failed(); });
      counted.pass();  // until then it looks for another coordinator
      return std::string(channel->failure().what());
    });
    CHECK(service.report() == "5");
    counted.open(1);
    const std::string words =
        "rank 0 (host x, pid 77) cannot be reached, but may live: its control ";
    CHECK(says(
        rank.report(),
        words + (how == Break::in_order ? "connection ended [peer rank 0]"
                                        : "connection ended: it sent a message that was changed")));
  }
}

}  // namespace
}  // namespace rondo
