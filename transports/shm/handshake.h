// What the two ends of a shared-memory channel say to each other, once.
//
//   sender                                   receiver
//   Hello + its doorbell's memfd    ----->   checks user, version, communicator, shape
//                                            makes the ring's memory
//   maps the ring                   <-----   Welcome + the ring's memfd + its doorbell's memfd
//
// The socket stays open: its end-of-file is how a killed peer is noticed.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rondo::shm {

inline constexpr std::uint64_t protocol_magic = 0x6d68732d6f646e72;  // "rndo-shm"
inline constexpr std::uint32_t protocol_version = 1;

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

}  // namespace rondo::shm
