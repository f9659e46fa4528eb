// What only the shm transport has: unknown connections on its Unix socket, a lack of memory.
#include <signal.h>
#include <sys/resource.h>

#include <array>

#include "core/base/log.h"
#include "core/transport/unix_socket.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"
#include "transports/shm/handshake.h"
#include "transports/shm/segment.h"

namespace rondo::testing {
namespace {

Variant shm_variant() { return {"shm", find_transport("shm")}; }

/// Files may not grow beyond `bytes` while this lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit old_{};
};

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("shm: strangers on the Unix socket disturb nobody", "[transports]") {
  configure_log({.level = LogLevel::none});
  const std::size_t before = open_descriptors();
  {
    World world(shm_variant(), 2);
    const std::string address = world[1].address();
    auto silent = unix_socket::connect_to(address);
    auto garbage = unix_socket::connect_to(address);
    auto with_descriptors = unix_socket::connect_to(address);
    auto foreign = unix_socket::connect_to(address);
    REQUIRE((silent && garbage && with_descriptors && foreign));
    const auto noise = pattern(1, 2, 300);
    CHECK(unix_socket::send(*garbage, noise, {}));
    CHECK(unix_socket::send(*with_descriptors, noise, std::array{0, 1, 2}));
    shm::Hello hello{.from = 0, .to = 1, .communicator = 999};
    CHECK(unix_socket::send(*foreign, std::as_writable_bytes(std::span(&hello, 1)), std::array{0}));
    send(world, world[0].sender(1, 0), pattern(1, 0, 100), 4);
    CHECK(receive(world, world[1].receiver(0, 0)) == Message{4, pattern(1, 0, 100)});
    // A right hello for a channel that is there already changes nothing either.
    auto twice = unix_socket::connect_to(address);
    hello = {.from = 0, .to = 1, .communicator = 7, .slot_bytes = 8192, .depth = 8};
    CHECK(unix_socket::send(*twice, std::as_writable_bytes(std::span(&hello, 1)), std::array{0}));
    for (int i = 0; i < 1000; ++i) world.progress();
    send(world, world[0].sender(1, 0), pattern(1, 1, 100), 5);
    CHECK(receive(world, world[1].receiver(0, 0)) == Message{5, pattern(1, 1, 100)});
  }
  CHECK(open_descriptors() == before);
  configure_log({});
}

TEST_CASE("shm: a lack of memory is an error on both ends that says what to set", "[transports]") {
  World world(shm_variant(), 2, 65536);
  std::string at_sender = "none";
  std::string at_receiver = "none";
  {
    const FileLimit limit(8192);
    SendChannel& out = world[0].sender(1, 0);
    ReceiveChannel& in = world[1].receiver(0, 0);
    world.until([&] {
      at_sender = failure([&] { out.acquire(); });
      at_receiver = failure([&] { in.peek(); });
      return at_sender != "none" && at_receiver != "none";
    });
  }
  CHECK(at_receiver ==
        "out_of_memory: rondo: rank 1: no memory for a shared-memory channel of 525568 bytes [peer "
        "rank 0]. Try: set a smaller RONDO_SLOT_BYTES (the same on all ranks), or "
        "RONDO_TRANSPORT=^shm");
  CHECK(at_sender ==
        "out_of_memory: rondo: rank 0: no memory for a shared-memory channel of 525568 bytes [peer "
        "rank 1]. Try: set a smaller RONDO_SLOT_BYTES (the same on all ranks), or "
        "RONDO_TRANSPORT=^shm");
}

TEST_CASE("shm: ranks with different slots tell each other", "[transports]") {
  World world(shm_variant(), 2, 8192);
  const TransportSettings settings{.rank = 0,
                                   .ranks = 2,
                                   .communicator = 7,
                                   .slot_bytes = 4096,
                                   .doorbell = world.doorbells[0].get()};
  world.transports[0] = shm_variant().kind->make(settings);
  world[0].meet({world[0].address(), world[1].address()});
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  std::string at_sender;
  std::string at_receiver;
  world.until([&] {
    at_sender = failure([&] { out.acquire(); });
    at_receiver = failure([&] { in.peek(); });
    return at_sender != "none" && at_receiver != "none";
  });
  CHECK(at_sender ==
        "configuration: rondo: rank 0: the peer uses slots of 8192 bytes, this rank of 4096 [peer "
        "rank 1]. Try: set the same RONDO_SLOT_BYTES on every rank");
  CHECK(at_receiver ==
        "configuration: rondo: rank 1: the peer uses slots of 4096 bytes, this rank of 8192 [peer "
        "rank 0]. Try: set the same RONDO_SLOT_BYTES on every rank");
}

TEST_CASE("shm: memory of a wrong size is refused, not run into", "[transports]") {
  const RingShape shape{.slot_bytes = 4096, .depth = 2};
  const shm::Segment segment = shm::make_segment(shape, 0, 1);
  CHECK(shm::map_segment(segment.memory, shape, 1, 0).memory != nullptr);
  CHECK_THROWS_AS(shm::map_segment(segment.memory, {.slot_bytes = 8192, .depth = 2}, 1, 0), Error);
  CHECK(::ftruncate(segment.memory.get(), 0) != 0);  // sealed
}

}  // namespace rondo::testing
