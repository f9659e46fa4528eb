// What is sent again when a connection breaks: all that is missing, and nothing twice.
#include "core/control/session.h"

#include <random>
#include <vector>

#include "tests/catch.h"

namespace rondo::control {
namespace {

std::shared_ptr<const std::string> numbered(std::uint64_t number) {
  return std::make_shared<const std::string>(
      encode(Message(Query{.communicator = 1, .diagnosis = number, .from = 0, .to = 0})));
}

/// A side, the messages under way to it, and the numbers of those that it got.
struct Side {
  void send(std::uint64_t number, Side& other) {
    session.keep(numbered(number));
    other.under_way.push_back(numbered(number));
  }
  void receive(Side& other) {
    if (under_way.empty()) return;
    FrameReader reader;
    reader.feed(*under_way.front());
    under_way.pop_front();
    const Message message = *reader.next();
    if (session.take(message))
      other.under_way.push_back(
          std::make_shared<const std::string>(encode(Message(Received{session.received()}))));
    if (const auto* query = std::get_if<Query>(&message)) got.push_back(query->diagnosis);
  }
  void resume(Side& other) {
    const auto& again = other.session.left_after(session.received());
    under_way = {again.begin(), again.end()};
  }

  Session session{};
  std::deque<Session::Bytes> under_way{};
  std::vector<std::uint64_t> got{};
};

TEST_CASE("all messages come once and in order, wherever connections break") {
  std::mt19937 random(1);
  for (int life = 0; life < 200; ++life) {
    std::array<Side, 2> sides;
    std::array<std::uint64_t, 2> sent{};
    for (int step = 0; step < 2000; ++step) {
      const std::size_t side = random() % 2;
      const auto what = random() % 100;
      if (what < 40) sides[side].send(++sent[side], sides[1 - side]);
      if (what >= 40 && what < 98) sides[side].receive(sides[1 - side]);
      if (what < 98) continue;
      for (const std::size_t each : {0, 1}) sides[each].resume(sides[1 - each]);
    }
    while (!sides[0].under_way.empty() || !sides[1].under_way.empty())
      for (const std::size_t each : {0, 1}) sides[each].receive(sides[1 - each]);
    for (const std::size_t each : {0, 1}) {
      REQUIRE(sides[each].got.size() == sent[1 - each]);
      for (std::size_t i = 0; i < sides[each].got.size(); ++i) REQUIRE(sides[each].got[i] == i + 1);
    }
    // All has come: what is kept is what was not acknowledged yet.
    for (Side& side : sides) CHECK(side.session.left_after(0).size() < 16);
  }
}

TEST_CASE("what the other side has got is not kept, whatever it says") {
  Session session;
  for (std::uint64_t number = 1; number <= 100; ++number) session.keep(numbered(number));
  CHECK_FALSE(session.take(Message(Received{70})));
  CHECK(session.left_after(70).size() == 30);
  CHECK(session.left_after(60).size() == 30);  // it has said more before
  CHECK(session.left_after(1000).empty());     // it never got these
  session.keep(numbered(101));
  CHECK(session.left_after(100).size() == 1);
}

TEST_CASE("connections that end soon and bring nothing either way end a session") {
  Session session;
  Session::Clock::time_point now{};
  const auto may_go_on = [&](int seconds) {
    return session.may_go_on(now += std::chrono::seconds{seconds});
  };
  for (int connection = 0; connection < 100; ++connection) {
    CHECK(may_go_on(1));
    session.take(Message(Query{}));
  }
  for (int connection = 0; connection < 100; ++connection) {
    CHECK(may_go_on(1));
    session.keep(numbered(1));
    session.left_after(static_cast<std::uint64_t>(connection) + 1);
  }
  for (int connection = 0; connection < 100; ++connection) CHECK(may_go_on(10));
  for (int in_vain = 1; in_vain < 5; ++in_vain) CHECK(may_go_on(9));
  CHECK_FALSE(may_go_on(9));
}

TEST_CASE("every sixteenth message is acknowledged, and what a connection needs does not count") {
  Session session;
  int acknowledged = 0;
  for (int message = 0; message < 64; ++message) {
    acknowledged += session.take(Message(Query{}));
    CHECK_FALSE(session.take(Message(Received{})));
    CHECK_FALSE(session.take(Message(BootstrapExpired{})));
    CHECK_FALSE(session.take(Message(Welcome{})));
  }
  CHECK(acknowledged == 4);
  CHECK(session.received() == 64);
}

}  // namespace
}  // namespace rondo::control
