// What the other end must know of a queue pair. Needs no libibverbs.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "transports/verbs/addresses.h"

namespace rondo::verbs {

/// Travels as it lies in memory.
struct EndpointAddress {
  std::uint32_t number = 0;    ///< of the queue pair
  std::uint32_t sequence = 0;  ///< of its first packet
  std::uint32_t mtu = 0;       ///< bytes
  std::uint16_t lid = 0;
  std::uint8_t kind = 0;  ///< GidKind
  std::uint8_t reserved = 0;
  std::array<std::uint8_t, 16> gid{};
  std::uint64_t lines = 0;  ///< of a receiving end: where its lines begin, as its device names it
  std::uint32_t key = 0;    ///< and the key that lets this queue pair's peer write there
  std::uint32_t more_reserved = 0;
  friend bool operator==(const EndpointAddress&, const EndpointAddress&) = default;
};
static_assert(sizeof(EndpointAddress) == 48 && std::is_trivially_copyable_v<EndpointAddress>);

inline Gid gid_of(const EndpointAddress& address) {
  return {.bytes = address.gid, .kind = static_cast<GidKind>(address.kind)};
}

}  // namespace rondo::verbs
