// Transports between processes: they carry frames, and notice when the other process is killed.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/processes.h"
#include "tests/transports/world.h"

namespace rondo::testing {
namespace {

using test::Child;
using test::Pipe;

/// One of two ranks, in its own process. It throws where the other one would otherwise hang.
struct Rank {
  Rank(const Variant& variant, int rank, const Pipe& from_peer, const Pipe& to_peer) {
    transport = variant.kind->make({.rank = rank,
                                    .ranks = 2,
                                    .communicator = 3,
                                    .slot_bytes = 8192,
                                    .sockets = variant.sockets,
                                    .doorbell = &doorbell});
    to_peer.write(transport->address());
    std::vector<std::string> addresses(2, transport->address());
    addresses[static_cast<std::size_t>(1 - rank)] = from_peer.read();
    transport->meet(addresses);
    out = &transport->sender(1 - rank, 0);
    in = &transport->receiver(1 - rank, 0);
  }
  Message receive() {
    std::optional<Message> message;
    wait_until([&] {
      transport->progress();
      return (message = try_receive(*in)).has_value();
    });
    return *message;
  }
  void send(const Message& message) {
    wait_until([&] {
      transport->progress();
      return try_send(*out, message.bytes, message.fingerprint);
    });
  }

  Doorbell doorbell{};
  std::unique_ptr<Transport> transport{};
  SendChannel* out = nullptr;
  ReceiveChannel* in = nullptr;
};

/// How many sockets this process holds, as its /proc says.
int sockets_here() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ++count;
  }
  return count;
}

/// The child sends back what it gets until it is killed.
std::string echo(const Variant& variant, const Pipe& from_parent, const Pipe& to_parent) {
  Rank rank(variant, 1, from_parent, to_parent);
  for (;;) rank.send(rank.receive());
}

std::vector<Variant> crossing_variants() {
  std::vector<Variant> all = plain_variants();
  std::erase_if(all, [](const Variant& variant) { return variant.kind->name == "local"; });
  return all;
}

template <class Call>
void check_lost(Call call) {
  try {
    wait_until(call);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::peer_lost);
    CHECK(error.rank() == 0);
    CHECK(error.peer() == 1);
    CHECK(!error.remedy().empty());
  }
}

// UBSan, which comes with ASan here, opens a pipe to look at an object's type.
#if !defined(__SANITIZE_ADDRESS__)
/// At most `left` further file descriptors can be had while this lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit limit{static_cast<rlim_t>(lowest_free + left), old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

TEST_CASE("no file descriptors left is said so", "[transports]") {
  const Variant variant = GENERATE(from_range(crossing_variants()));
  CAPTURE(variant.name);
  World world(variant, 2);
  std::optional<Error> failure;
  {
    // Nothing is checked in here: a failing check may need a descriptor itself.
    const FewDescriptors none(0);
    try {
      SendChannel& out = world[0].sender(1, 0);
      world.until([&] { return !out.acquire().empty(); });
    } catch (const Error& error) {
      failure.emplace(error);
    }
  }
  REQUIRE(failure.has_value());
  CHECK(failure->code() == ErrorCode::system);
  CHECK(failure->message() == "out of file descriptors");
  CHECK(failure->remedy() == "raise the limit of open files (ulimit -n)");
}

TEST_CASE("a transport that cannot be made for want of descriptors is an error", "[transports]") {
  const Variant variant = GENERATE(from_range(crossing_variants()));
  const int left = GENERATE(range(0, 10));
  CAPTURE(variant.name, left);
  Doorbell doorbell;
  std::optional<ErrorCode> code;
  {
    const FewDescriptors few(left);
    try {
      variant.kind->make({.rank = 0, .ranks = 2, .doorbell = &doorbell});
    } catch (const Error& error) {
      code = error.code();
    }
  }
  // Discovery may find no device that it could open.
  const bool undiscovered = variant.kind->name == "verbs" && code == ErrorCode::configuration;
  CHECK((!code || code == ErrorCode::system || undiscovered));
  if (left == 0) CHECK(code);
}
#endif

}  // namespace

TEST_CASE("frames cross processes; a killed peer is an error on both channels", "[transports]") {
  const Variant variant = GENERATE(from_range(crossing_variants()));
  CAPTURE(variant.name);
  const Pipe forth;
  const Pipe back;
  Child child([&] { return echo(variant, forth, back); });
  Rank rank(variant, 0, back, forth);
  for (const std::size_t bytes : {0U, 8U, 40U, 41U, 8192U}) {
    const Message message{bytes, pattern(2, bytes, bytes)};
    rank.send(message);
    CHECK(rank.receive() == message);
  }
  child.kill();
  check_lost([&] {
    rank.transport->progress();
    return rank.in->peek() != nullptr;
  });
  check_lost([&] {
    rank.transport->progress();
    try_send(*rank.out, pattern(2, 1, 8192), 1);
    return false;
  });
}

TEST_CASE("a child by fork() holds none of a transport's sockets") {
  for (const Variant& variant : crossing_variants()) {
    CAPTURE(variant.name);
    const int before = sockets_here();
    World world(variant);
    send(world, world[0].sender(1, 0), pattern(1, 0, 100), 4);
    CHECK(receive(world, world[1].receiver(0, 0)).fingerprint == 4);
    CHECK(sockets_here() > before);
    CHECK(Child([] { return std::to_string(sockets_here()); }).report() == std::to_string(before));
  }
}

}  // namespace rondo::testing
