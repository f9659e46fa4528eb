// The messages by which the two ends of a shared-memory channel connect, once.
//
//   sender                                   receiver
//   Hello + its doorbell            ----->   checks user, version, communicator, shape
//                                            makes the ring's memory
//   maps the ring                   <-----   Welcome + the ring's memfd + its doorbell
//
// A doorbell is one or two descriptors (core/transport/doorbell.h). The socket stays open. Its end
// of file shows that the peer was killed.
//
// Direct access has one connection per pair of ranks, made by the higher one, used both ways:
//
//   higher rank                              lower rank
//   Hello (lane: direct_lane) + its   ----->  checks as above; rank 0 makes the control block
//   doorbell
//   rings and maps                    <-----  Note joined + its doorbell
//                                             [+ the control block's memfd, from rank 0]
//   Note window + the window's memfd  <---->  unasked, before the first call that touches it
//   Note ask (window's number)        <---->  Note window + the window's memfd, or why not
//   Note freed (window's number)      <---->  the rank that was sent the window unmaps it
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>

#include "core/base/unique_fd.h"
#include "core/transport/doorbell.h"
#include "rondo/error.h"

namespace rondo::shm {

inline constexpr std::uint64_t protocol_magic = 0x6d68732d6f646e72;  // "rndo-shm"
inline constexpr std::uint32_t protocol_version = 3;

/// The connection for direct access has this in place of a lane. slot_bytes is the size of the
/// control block.
inline constexpr std::int32_t direct_lane = -1;

struct Hello {
  std::uint64_t magic = protocol_magic;
  std::uint32_t version = protocol_version;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t lane = 0;
  std::uint64_t communicator = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t depth = 0;
};
static_assert(sizeof(Hello) == 48 && std::is_trivially_copyable_v<Hello>);

enum class Verdict : std::uint32_t { accepted, no_memory, no_descriptors, refused };

struct Welcome {
  std::uint64_t magic = protocol_magic;
  std::uint32_t version = protocol_version;
  Verdict verdict = Verdict::accepted;
  std::uint64_t slot_bytes = 0;  ///< the receiver's own, for the error text
  std::uint64_t ring_bytes = 0;
};
static_assert(sizeof(Welcome) == 32 && std::is_trivially_copyable_v<Welcome>);

/// A message on a connection for direct access, after the hello.
struct Note {
  enum class Kind : std::uint32_t { joined, ask, window, freed };

  std::uint64_t magic = protocol_magic;
  Kind kind = Kind::joined;
  Verdict verdict = Verdict::accepted;  ///< window: refused means that there is none
  std::uint64_t window = 0;             ///< number
  std::uint64_t base = 0;               ///< of the window, in its owner's address space
  std::uint64_t bytes = 0;              ///< of the window; joined: of the control block
};
static_assert(sizeof(Note) == 40 && std::is_trivially_copyable_v<Note>);

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}
template <class Message>
std::span<std::byte> bytes_of(Message& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

/// The errors of one rank that channels and direct access have in common.
struct Errors {
  int rank = 0;

  Error make(ErrorCode code, int peer, std::string message, std::string remedy) const;
  Error no_descriptors(int peer) const;
  Error peer_died(int peer) const;
  Error other_protocol(int peer) const;
  /// For what a Unix socket threw while connecting to the peer.
  Error cannot_connect(int peer, const std::system_error& failure) const;
};

/// Connects to a peer and says hello, with this rank's doorbell. Nothing: the peer has
/// no room for a connection now. Throws Error, std::system_error.
std::optional<UniqueFd> greet(const std::string& address, const Hello& hello,
                              const Doorbell& doorbell);

}  // namespace rondo::shm
