// The tcp transport's ports, and who connects to them without being a peer.
#include <vector>

#include "core/base/log.h"
#include "tests/transports/tcp_peer.h"

namespace rondo::testing {

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
    const tcp::Hello hello{
        .challenge = contact.challenge, .communicator = 7, .from = 0, .to = 1, .sockets = 1};
    const UniqueFd ignorant = connect_to(contact.endpoints[0]);
    say_hello(ignorant, hello, secret_from("a guess"));
    tcp::Hello old = hello;  // as overheard from another rank's connection
    ++old.challenge;
    const UniqueFd late = connect_to(contact.endpoints[0]);
    say_hello(late, old);
    // Knows the secret, but is of another communicator.
    tcp::Hello other = hello;
    other.communicator = 99;
    const UniqueFd foreign = connect_to(contact.endpoints[0]);
    say_hello(foreign, other);
    send(world, world[0].sender(1, 0), pattern(1, 0, 100), 4);
    CHECK(receive(world, world[1].receiver(0, 0)) == Message{4, pattern(1, 0, 100)});
  }
  CHECK(open_descriptors() == before);
  configure_log({});
}

TEST_CASE("tcp: strangers are no progress", "[transports]") {
  configure_log({.level = LogLevel::none});
  World world(tcp_variant(), 2);
  const tcp::Contact contact = tcp::parse_contact(world[1].address());
  world[1].receiver(0, 0);  // so that it looks each time
  for (int i = 0; i < 20; ++i) {
    const UniqueFd stranger = connect_to(contact.endpoints[0]);
    write_bytes(stranger, pattern(1, 2, 300));
    // Until it was looked at and dropped.
    pollfd dropped{.fd = stranger.get(), .events = POLLIN, .revents = 0};
    wait_until([&] {
      CHECK_FALSE(world[1].progress());
      return ::poll(&dropped, 1, 0) == 1;
    });
  }
  configure_log({});
}

TEST_CASE("tcp: a crowd of idle strangers keeps no peer out", "[transports]") {
  configure_log({.level = LogLevel::none});
  World world(tcp_variant(), 2);
  const tcp::Contact contact = tcp::parse_contact(world[1].address());
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connect_to(contact.endpoints[0]));
  world[1].receiver(0, 0);  // so that it looks each time
  // The oldest makes room: no more than 64 are held.
  char byte = 0;
  CHECK_NOTHROW(wait_until([&] {
    world[1].progress();
    return ::recv(idle.front().get(), &byte, 1, MSG_DONTWAIT) == 0;
  }));
  CHECK(::recv(idle.back().get(), &byte, 1, MSG_DONTWAIT) < 0);
  send(world, world[0].sender(1, 0), pattern(1, 0, 100), 4);
  CHECK(receive(world, world[1].receiver(0, 0)) == Message{4, pattern(1, 0, 100)});
  configure_log({});
}

TEST_CASE("tcp: a hello that was overheard is of no use", "[transports]") {
  configure_log({.level = LogLevel::none});
  World world(tcp_variant(), 2);
  const tcp::Contact contact = tcp::parse_contact(world[1].address());
  world[1].receiver(0, 0);  // so that it looks each time
  const tcp::Hello hello{.challenge = contact.challenge,
                         .own_challenge = 5,
                         .communicator = 7,
                         .from = 0,
                         .to = 1,
                         .sockets = 1,
                         .slot_bytes = 8192};
  const UniqueFd first = connect_to(contact.endpoints[0]);
  say_hello(first, hello);
  wait_until([&] { return world[1].progress(); });
  const UniqueFd again = connect_to(contact.endpoints[0]);
  say_hello(again, hello);
  char byte = 0;
  CHECK_NOTHROW(wait_until([&] {
    CHECK_FALSE(world[1].progress());
    return ::recv(again.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }));
  Proof answered;
  CHECK(::recv(first.get(), answered.data(), answered.size(), MSG_DONTWAIT) == sizeof(answered));
  CHECK(tcp::is_genuine(answered, Secret{}, hello));
  configure_log({});
}

TEST_CASE("tcp: whoever answers without the secret is not taken for the peer", "[transports]") {
  const Listener listener;
  Doorbell doorbell;
  const TransportSettings settings{.rank = 0,
                                   .ranks = 2,
                                   .slot_bytes = 8192,
                                   .timeout = std::chrono::milliseconds{600},
                                   .interface = "=lo",
                                   .doorbell = &doorbell};
  const auto transport = tcp_variant().kind->make(settings);
  const tcp::Contact peer{.challenge = 1, .endpoints = {listener.endpoint}};
  transport->meet({transport->address(), tcp::to_text(peer)});
  SendChannel& out = transport->sender(1, 0);
  const UniqueFd taken = take_connection(*transport, listener, secret_from("a guess"));
  const std::string told = failure([&] {
    transport->progress();
    return !out.acquire().empty();
  });
  CHECK(told == "peer_lost: whoever answers in place of rank 1 at 127.0.0.1 port " +
                    std::to_string(listener.endpoint.port) + " does not know this job's secret");
}

}  // namespace rondo::testing
