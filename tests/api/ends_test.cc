// Communicators that do not end in order, or end in another process than the one that made them.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::with_world;

constexpr auto f32 = DataType::float32;

struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Has an exception destroy `world`, with `begin`'s work under way.
void leave_by_exception(Communicator& world, const std::function<void(Communicator&)>& begin) {
  try {
    const auto own = std::make_unique<Communicator>(std::move(world));
    begin(*own);
    throw Trouble("the program's own");
  } catch (const Trouble&) {
  }
}

TEST_CASE("an exception that destroys a communicator does not wait for messages that never come") {
  with_world(3, {}, [](Communicator& world) {
    float value = 0;
    if (world.rank() == 1) {
      leave_by_exception(world, [&](Communicator& own) { own.recv_async(&value, 1, f32, 2); });
    } else {
      expect(error_of([&] { world.all_reduce(&value, &value, 1, f32); }), ErrorCode::aborted,
             "an exception left its calls under way");
    }
  });
}

TEST_CASE("an exception that destroys an idle communicator leaves its completed calls complete") {
  with_world(2, {}, [](Communicator& world) {
    float value = 1;
    if (world.rank() == 1) {
      leave_by_exception(world, [&](Communicator& own) { own.send(&value, 1, f32, 0); });
    } else {
      world.recv(&value, 1, f32, 1);
    }
  });
}

/// The text of the error that `act` throws in a child; "" for none.
std::string in_a_child(const std::function<void()>& act) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);  // a call that should be refused may wait instead
    std::string words;
    try {
      act();
    } catch (const std::exception& error) {
      words = error.what();
    }
    const auto written = ::write(ends[1], words.data(), words.size());
    ::_exit(written == static_cast<ssize_t>(words.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<char, 1000> read{};
  const auto length = ::read(ends[0], read.data(), read.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  REQUIRE(length >= 0);
  return {read.data(), static_cast<std::size_t>(length)};
}

TEST_CASE("a child cannot use its parent's communicator, and does it no harm") {
  std::optional<Communicator> world = Communicator::from_unique_id(make_unique_id(), 0, 1);
  float value = 1;
  Work pending = world->recv_async(&value, 1, f32, 0);  // and there is a thread that works on it
  const std::string foreign = "belongs to the process that this one was forked from";
  const auto refused = [&](const std::function<void()>& call) {
    return in_a_child(call).find(foreign) != std::string::npos;
  };
  CHECK(refused([&] { world->all_reduce(&value, &value, 1, f32); }));
  CHECK(refused([&] { world->all_reduce_async(&value, &value, 1, f32); }));
  CHECK(refused([&] { world->split(0); }));
  CHECK(refused([&] { world->set_timeout(std::chrono::seconds{1}); }));
  CHECK(refused([&] { world->finalize(); }));
  CHECK(refused([&] { pending.wait(); }));
  CHECK(refused([&] { pending.test(); }));
  CHECK(in_a_child([&] { world->abort("by a child"); }).empty());
  CHECK(in_a_child([&] {
          pending = {};
          world.reset();
        }).empty());
  const float sent = 2;
  Work sending = world->send_async(&sent, 1, f32, 0);
  pending.wait();
  sending.wait();
  CHECK(value == 2);
  world->finalize();
}

}  // namespace
}  // namespace rondo
