// What only the tcp transport has: addresses as text, unknown connections, broken streams.
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
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
#include "tests/transports/world.h"
#include "transports/tcp/contact.h"
#include "transports/tcp/graceful_shutdown.h"
#include "transports/tcp/stream.h"

namespace rondo::testing {
namespace {

Variant tcp_variant() { return {"tcp", find_transport("tcp")}; }

UniqueFd connect_to(const tcp::Endpoint& endpoint) {
  UniqueFd socket;
  if (endpoint.address.find(':') == std::string::npos) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.address.c_str(), &to.sin_addr);
    socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  } else {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(endpoint.port);
    ::inet_pton(AF_INET6, endpoint.address.c_str(), &to.sin6_addr);
    socket = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  }
  return socket;
}

void write_bytes(const UniqueFd& socket, std::span<const std::byte> bytes) {
  CHECK(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(bytes.size()));
}

/// Somebody to connect to through the loopback.
struct Listener {
  Listener() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(here);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&here), length) == 0);
    REQUIRE(::listen(socket.get(), 1) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length) == 0);
    endpoint = {"127.0.0.1", ntohs(here.sin_port)};
  }
  UniqueFd accept() const { return UniqueFd(::accept(socket.get(), nullptr, nullptr)); }

  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  tcp::Endpoint endpoint{};
};

/// Two ends of a connection.
std::array<UniqueFd, 2> connected_pair() {
  const Listener listener;
  UniqueFd made = connect_to(listener.endpoint);
  return {std::move(made), listener.accept()};
}

/// Closes it as the kernel does for a process that is killed with input unread.
void reset(UniqueFd socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
}

template <class Body>
std::string failure(Body body) {
  try {
    wait_until(body);
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.message();
  }
  return "none";
}

}  // namespace

TEST_CASE("tcp: strangers on the port disturb nobody", "[transports]") {
  configure_log({.level = LogLevel::none});
  const std::size_t before = open_descriptors();
  {
    World world(tcp_variant(), 2);
    const tcp::Contact contact = tcp::parse_contact(world[1].address());
    const UniqueFd silent = connect_to(contact.endpoints[0]);
    const UniqueFd noisy = connect_to(contact.endpoints[0]);
    write_bytes(noisy, pattern(1, 2, 300));
    UniqueFd brief = connect_to(contact.endpoints[0]);
    write_bytes(brief, pattern(1, 2, 10));
    brief.reset();
    // Knows the magic, but is of another communicator.
    const UniqueFd foreign = connect_to(contact.endpoints[0]);
    const tcp::Hello hello{.magic = contact.magic, .communicator = 99, .from = 0, .to = 1};
    write_bytes(foreign, std::as_bytes(std::span(&hello, 1)));
    send(world, world[0].sender(1, 0), pattern(1, 0, 100), 4);
    CHECK(receive(world, world[1].receiver(0, 0)) == Message{4, pattern(1, 0, 100)});
  }
  CHECK(open_descriptors() == before);
  configure_log({});
}

TEST_CASE("tcp: bytes that are no frame are an error, not data", "[transports]") {
  World world(tcp_variant(), 2, 8192);
  const tcp::Contact contact = tcp::parse_contact(world[1].address());
  const UniqueFd socket = connect_to(contact.endpoints[0]);
  const tcp::Hello hello{.magic = contact.magic,
                         .communicator = 7,
                         .from = 0,
                         .to = 1,
                         .sockets = 1,
                         .slot_bytes = 8192};
  write_bytes(socket, std::as_bytes(std::span(&hello, 1)));
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
  const tcp::Contact peers{.magic = 1, .endpoints = {listener.endpoint}};
  transport->meet({transport->address(), tcp::to_text(peers)});
  SendChannel& out = transport->sender(1, 0);
  ReceiveChannel& in = transport->receiver(1, 0);
  constexpr std::size_t bytes = 100;
  while (out.acquire().empty()) transport->progress();
  out.commit(bytes, 42);

  struct {
    tcp::FrameHeader header{42, bytes, 0};
    std::array<std::byte, bytes> payload{};
  } frame;
  {
    const UniqueFd made = connect_to(own.endpoints.front());
    const tcp::Hello hello{.magic = own.magic,
                           .communicator = 7,
                           .from = 1,
                           .to = 0,
                           .socket = 0,
                           .sockets = 1,
                           .slot_bytes = 8192};
    write_all(made.get(), &hello, sizeof(hello));
    write_all(made.get(), &frame, sizeof(tcp::FrameHeader) + bytes);
    const UniqueFd accepted = listener.accept();
    tcp::Hello heard;
    read_all(accepted.get(), &heard, sizeof(heard));
    read_all(accepted.get(), &frame, sizeof(tcp::FrameHeader) + bytes);
  }
  CHECK(in.peek() == nullptr);  // only the end of the own connection can be seen
  const Frame* arrived = nullptr;
  CHECK_NOTHROW(wait_until([&] {
    transport->progress();
    arrived = in.peek();
    return arrived != nullptr;
  }));
  REQUIRE(arrived != nullptr);
  CHECK(arrived->fingerprint == 42);
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
  const tcp::Contact peer{.magic = 1, .endpoints = {silent.endpoint, answers.endpoint}};
  transport->meet({transport->address(), tcp::to_text(peer)});
  SendChannel& out = transport->sender(1, 0);
  CHECK_NOTHROW(wait_until([&] {
    transport->progress();
    return !out.acquire().empty();
  }));
  pollfd arrived{.fd = answers.socket.get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&arrived, 1, 0) == 1);
}

/// Rank 1's error after rank 0, played here, has sent `sent` and then reset the connection.
std::string failure_after_reset(std::span<const std::byte> sent) {
  World world(tcp_variant(), 2, 8192);
  ReceiveChannel& in = world[1].receiver(0, 0);
  {
    const tcp::Contact contact = tcp::parse_contact(world[1].address());
    UniqueFd socket = connect_to(contact.endpoints.front());
    const tcp::Hello hello{.magic = contact.magic,
                           .communicator = 7,
                           .from = 0,
                           .to = 1,
                           .sockets = 1,
                           .slot_bytes = 8192};
    write_bytes(socket, std::as_bytes(std::span(&hello, 1)));
    write_bytes(socket, sent);
    // A reset discards what has not been read.
    REQUIRE(failure([&] {
              world.progress();
              CHECK(in.peek() == nullptr);
              int unread = 0;
              return ::ioctl(socket.get(), SIOCOUTQ, &unread) == 0 && unread == 0 &&
                     in.fingerprint().has_value() == (sent.size() >= sizeof(tcp::FrameHeader));
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
  const tcp::FrameHeader begun{1, 100, 0};
  CHECK(failure_after_reset(std::as_bytes(std::span(&begun, 1))) == reset);
  configure_log({});
}

TEST_CASE("tcp: a reset of one of two possible connections is told, too", "[transports]") {
  tcp::StreamReader reader(8192, {.rank = 1, .peer = 0});
  std::array<UniqueFd, 2> ends = connected_pair();
  reader.incoming().add(std::make_shared<const UniqueFd>(std::move(ends[0])), true, false);
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
  tcp::deliver({std::make_shared<const UniqueFd>(std::move(leaver))});
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
