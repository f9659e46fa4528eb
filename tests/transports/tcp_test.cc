// What only the tcp transport has: addresses as text, unknown connections, broken streams.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/unique_fd.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/tcp_peer.h"
#include "transports/tcp/contact.h"
#include "transports/tcp/graceful_shutdown.h"
#include "transports/tcp/stream.h"

namespace rondo::testing {
namespace {

/// Two ends of a connection.
std::array<UniqueFd, 2> connected_pair() {
  const Listener listener;
  UniqueFd made = connect_to(listener.endpoint);
  return {std::move(made), listener.accept()};
}

/// A frame's header as it travels without a checksum.
struct PlainHeader {
  std::uint64_t fingerprint;
  std::uint32_t bytes;
  std::uint32_t number;
};
static_assert(sizeof(PlainHeader) == tcp::FrameSizes::plain_header);

/// Closes it as the kernel does for a process that is killed with input unread.
void reset(UniqueFd socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
}

}  // namespace

TEST_CASE("tcp: bytes that are no frame are an error, not data", "[transports]") {
  World world(tcp_variant(), 2, 8192);
  const tcp::Contact contact = tcp::parse_contact(world[1].address());
  const UniqueFd socket = connect_to(contact.endpoints[0]);
  say_hello(socket, {.challenge = contact.challenge,
                     .communicator = 7,
                     .from = 0,
                     .to = 1,
                     .sockets = 1,
                     .slot_bytes = 8192});
  write_bytes(socket, pattern(1, 2, 300));
  ReceiveChannel& in = world[1].receiver(0, 0);
  CHECK(failure([&] {
          world.progress();
          return in.peek() != nullptr;
        }) == "internal: what arrived on a TCP connection is not the next frame");
}

TEST_CASE("tcp: two ranks end up with one connection, whoever makes it", "[transports]") {
  // Bit r: rank r sends before the other one has anything of it.
  const unsigned first = GENERATE(1U, 2U, 3U);
  CAPTURE(first);
  World world(tcp_variant(), 2);
  const std::size_t before = open_descriptors();
  std::array<std::uint64_t, 2> sent{};
  std::array<std::uint64_t, 2> received{};
  const auto send_one = [&](int rank) {
    const std::uint64_t number = sent[static_cast<std::size_t>(rank)]++;
    send(world, world[rank].sender(1 - rank, 0), pattern(3, number, 5000), number);
  };
  const auto receive_one = [&](int rank) {
    const std::uint64_t number = received[static_cast<std::size_t>(rank)]++;
    CHECK(receive(world, world[rank].receiver(1 - rank, 0)) ==
          Message{number, pattern(3, number, 5000)});
  };
  // Both begin to connect before either can have heard of it.
  for (int rank = 0; rank < 2; ++rank) {
    if ((first >> rank & 1) != 0) world[rank].sender(1 - rank, 0);
  }
  for (int rank = 0; rank < 2; ++rank) {
    if ((first >> rank & 1) != 0) send_one(rank);
  }
  for (int round = 0; round < 5; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      while (received[static_cast<std::size_t>(1 - rank)] < sent[static_cast<std::size_t>(rank)])
        receive_one(1 - rank);
      send_one(rank);
    }
  }
  receive_one(0);
  // Its two ends lie in this process.
  CHECK_NOTHROW(world.until([&] { return open_descriptors() == before + 2; }));
}

/// Reads `bytes` bytes of a stream, and waits for them.
void read_all(int socket, void* into, std::size_t bytes) {
  REQUIRE(::recv(socket, into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
}
void write_all(int socket, const void* from, std::size_t bytes) {
  REQUIRE(::send(socket, from, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
}

// The peer is played here: it connects at the same time as rank 0, sends by its own connection,
// reads by rank 0's, is done and closes both, before rank 0 has accepted anything.
TEST_CASE("tcp: a frame on a connection not yet accepted outlives the end of the own one",
          "[transports]") {
  const Listener listener;
  Doorbell doorbell;
  const TransportSettings settings{.rank = 0,
                                   .ranks = 2,
                                   .communicator = 7,
                                   .slot_bytes = 8192,
                                   .interface = "=lo",
                                   .doorbell = &doorbell};
  const auto transport = tcp_variant().kind->make(settings);
  const tcp::Contact own = tcp::parse_contact(transport->address());
  const tcp::Contact peers{.challenge = 1, .endpoints = {listener.endpoint}};
  transport->meet({transport->address(), tcp::to_text(peers)});
  SendChannel& out = transport->sender(1, 0);
  ReceiveChannel& in = transport->receiver(1, 0);
  UniqueFd accepted = take_connection(*transport, listener);
  constexpr std::size_t bytes = 100;
  while (out.acquire().empty()) transport->progress();
  out.commit(bytes, {42});

  struct {
    PlainHeader header{42, bytes, 0};
    std::array<std::byte, bytes> payload{};
  } frame;
  {
    const UniqueFd made = connect_to(own.endpoints.front());
    say_hello(made, {.challenge = own.challenge,
                     .communicator = 7,
                     .from = 1,
                     .to = 0,
                     .socket = 0,
                     .sockets = 1,
                     .slot_bytes = 8192});
    write_all(made.get(), &frame, sizeof(PlainHeader) + bytes);
    read_all(accepted.get(), &frame, sizeof(PlainHeader) + bytes);
    accepted.reset();
  }
  CHECK(in.peek() == nullptr);  // only the end of the own connection can be seen
  const Frame* arrived = nullptr;
  CHECK_NOTHROW(wait_until([&] {
    transport->progress();
    arrived = in.peek();
    return arrived != nullptr;
  }));
  REQUIRE(arrived != nullptr);
  CHECK(arrived->tag.fingerprint == 42);
  CHECK(arrived->payload.size() == bytes);
}

TEST_CASE("tcp: where one address of a peer is silent, the next one is tried", "[transports]") {
  const Listener silent;  // takes no more than one connection beyond its backlog
  const UniqueFd first = connect_to(silent.endpoint);
  const UniqueFd second = connect_to(silent.endpoint);
  const Listener answers;
  Doorbell doorbell;
  const TransportSettings settings{
      .rank = 0, .ranks = 2, .slot_bytes = 8192, .interface = "=lo", .doorbell = &doorbell};
  const auto transport = tcp_variant().kind->make(settings);
  const tcp::Contact peer{.challenge = 1, .endpoints = {silent.endpoint, answers.endpoint}};
  transport->meet({transport->address(), tcp::to_text(peer)});
  SendChannel& out = transport->sender(1, 0);
  const UniqueFd taken = take_connection(*transport, answers);
  CHECK_NOTHROW(wait_until([&] {
    transport->progress();
    return !out.acquire().empty();
  }));
}

/// Rank 1's error after rank 0, played here, has sent `sent` and then reset the connection.
std::string failure_after_reset(std::span<const std::byte> sent) {
  World world(tcp_variant(), 2, 8192);
  ReceiveChannel& in = world[1].receiver(0, 0);
  {
    const tcp::Contact contact = tcp::parse_contact(world[1].address());
    UniqueFd socket = connect_to(contact.endpoints.front());
    say_hello(socket, {.challenge = contact.challenge,
                       .communicator = 7,
                       .from = 0,
                       .to = 1,
                       .sockets = 1,
                       .slot_bytes = 8192});
    write_bytes(socket, sent);
    // A reset discards what has not been read.
    REQUIRE(failure([&] {
              world.progress();
              CHECK(in.peek() == nullptr);
              int unread = 0;
              return ::ioctl(socket.get(), SIOCOUTQ, &unread) == 0 && unread == 0 &&
                     in.frame_head().has_value() == (sent.size() >= sizeof(PlainHeader));
            }) == "none");
    reset(std::move(socket));
  }
  return failure([&] {
    world.progress();
    return in.peek() != nullptr;
  });
}

TEST_CASE("tcp: a reset connection is told from one that was closed", "[transports]") {
  configure_log({.level = LogLevel::none});
  const std::string reset =
      "peer_lost: the TCP connection broke: it was reset: the peer's process was killed, or left "
      "without reading what it was sent";
  const PlainHeader begun{1, 100, 0};
  CHECK(failure_after_reset(std::as_bytes(std::span(&begun, 1))) == reset);
  configure_log({});
}

TEST_CASE("tcp: a reset of one of two possible connections is told, too", "[transports]") {
  tcp::StreamReader reader({8192}, {.rank = 1, .peer = 0});
  std::array<UniqueFd, 2> ends = connected_pair();
  reader.incoming().add(std::make_shared<const UnforkedFd>(std::move(ends[0])), true, false);
  reader.incoming().add_no_more();
  reset(std::move(ends[1]));
  CHECK(failure([&] { return reader.header(0) != nullptr; }).find("it was reset") !=
        std::string::npos);
}

// Without care the kernel of a rank that closes a connection with unread input throws away what is
// still on its way to the peer.
TEST_CASE("tcp: sent data arrives although its sender leaves without reading", "[transports]") {
  constexpr std::size_t slot_bytes = 8192;
  World world(tcp_variant(), 2, slot_bytes);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  send(world, world[1].sender(0, 0), pattern(9, 0, 100), 1);  // never read
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  const auto receive_one = [&] {
    const std::optional<Message> message = try_receive(in);
    if (!message) return;
    CHECK(*message == Message{received, pattern(9, received, slot_bytes)});
    ++received;
  };
  // Sends as much as both kernels hold, then receives until all of the rest is with the kernels.
  while (sent < 4000 && (sent == 0 || out.flushed())) {
    world.progress();
    if (try_send(out, pattern(9, sent, slot_bytes), sent)) ++sent;
  }
  wait_until([&] {
    world[0].progress();
    if (!out.flushed()) receive_one();
    return out.flushed();
  });
  const std::jthread leaving([&] { world.transports[0].reset(); });
  CHECK_NOTHROW(wait_until([&] {
    receive_one();
    return received == sent;
  }));
}

TEST_CASE("tcp: a peer that sends without end and takes nothing keeps no rank from leaving",
          "[transports]") {
  auto [leaver, peer] = connected_pair();
  const std::vector<std::byte> bytes(std::size_t{4} << 20);
  while (::send(leaver.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  // This end is long after deliver()'s own: two seconds where nobody else wants the processors.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const std::jthread sends([&] {
    while (std::chrono::steady_clock::now() < end &&
           ::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
    ::shutdown(peer.get(), SHUT_RDWR);
  });
  tcp::deliver({std::make_shared<const UnforkedFd>(std::move(leaver))});
  CHECK(std::chrono::steady_clock::now() < end);
}

TEST_CASE("tcp: ranks with different settings refuse each other", "[transports]") {
  World world(tcp_variant(), 2, 8192);
  const TransportSettings settings{.rank = 0,
                                   .ranks = 2,
                                   .communicator = 7,
                                   .slot_bytes = 4096,
                                   .sockets = 2,
                                   .doorbell = world.doorbells[0].get()};
  world.transports[0] = tcp_variant().kind->make(settings);
  world[0].meet({world[0].address(), world[1].address()});
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  CHECK(failure([&] {
          world.progress();
          return in.peek() != nullptr;
        }) ==
        "configuration: the peer uses 2 sockets and slots of 4096 bytes, this rank 1 sockets and "
        "slots of 8192 bytes");
  CHECK(failure([&] {
          world.progress();
          try_send(out, pattern(1, 1, 100), 1);
          return false;
        }).starts_with("peer_lost: the TCP connection broke: "));
}

}  // namespace rondo::testing
