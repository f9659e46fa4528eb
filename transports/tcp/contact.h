// How ranks find and recognise each other: the address text that the bootstrap exchanges, and the
// first bytes on every connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/secret.h"

namespace rondo::tcp {

struct Endpoint {
  std::string address{};  ///< numeric, IPv4 or IPv6
  std::uint16_t port = 0;
  int prefix = 0;  ///< bits of the address that name its network; 0: unknown
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Where a rank listens, and a random number: who connects has to prove that it is a rank, for this
/// number. As text: "1f..;10.0.0.1/24:4711;[fd00::1/64]:4711".
struct Contact {
  std::uint64_t challenge = 0;
  std::vector<Endpoint> endpoints{};  ///< one for each of the host's ports, the rank's own first
  friend bool operator==(const Contact&, const Contact&) = default;
};

std::string to_text(const Contact& contact);
/// Throws Error{bootstrap} for text that to_text() does not make.
Contact parse_contact(std::string_view text);

/// Two addresses of one network. Link-local addresses never count.
bool share_network(const Endpoint& a, const Endpoint& b);
/// Whether both run on one machine, as far as addresses tell: one has all addresses of the other.
bool share_machine(const Contact& a, const Contact& b);

/// The peer's endpoints for its socket number `socket` as seen from `here`: those in a network that
/// both are in come first, the socket'th of them at the front.
Contact for_socket(Contact peer, const Contact& here, int socket);

/// The first bytes on each connection that a rank makes. The answer is the other side's proof.
/// Frames follow, both ways.
struct Hello {
  std::uint64_t challenge = 0;      ///< of the receiver's Contact
  std::uint64_t own_challenge = 0;  ///< for the receiver's proof; a new one for each connection
  std::uint64_t communicator = 0;
  std::uint32_t version = 4;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t lane = 0;
  std::int32_t socket = 0;
  std::int32_t sockets = 0;
  std::uint64_t slot_bytes = 0;
};
static_assert(sizeof(Hello) == 56 && std::is_trivially_copyable_v<Hello>);

/// A hello, and the proof that its sender knows the job's secret.
struct SignedHello {
  Hello hello{};
  Proof proof{};
};
static_assert(sizeof(SignedHello) == 88 && std::is_trivially_copyable_v<SignedHello>);

SignedHello sign(const Secret& secret, const Hello& hello);
bool is_genuine(const SignedHello& said, const Secret& secret);
/// What the rank that took the connection answers.
Proof answer(const Secret& secret, const Hello& hello);
bool is_genuine(const Proof& answered, const Secret& secret, const Hello& hello);

}  // namespace rondo::tcp
