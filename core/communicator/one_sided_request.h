// What one-sided calls say where a peer's memory is reached by messages.
//
//   put      request, with the bytes if they are few, else a message of them
//   signal   request
//   get      request; the peer answers with a `reply` and the bytes in the same way
//   flush    request; the peer answers with a `reply`
//
// A rank takes the requests of a peer in order, and replies in order. So a reply needs no number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rondo::detail {

struct OneSidedRequest {
  enum class Kind : std::uint8_t { put, signal, get, flush, reply };

  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t window = 0;
  std::int16_t signal = -1;  ///< given after a put, or by itself; -1: none
  Kind kind = Kind::put;
  std::uint8_t unused = 0;
};
static_assert(sizeof(OneSidedRequest) == 24 && std::is_trivially_copyable_v<OneSidedRequest>);

/// A request with its bytes is one frame of at most so much. Copying them costs less than a second
/// message would.
inline constexpr std::size_t longest_request = std::size_t{36} << 10;

}  // namespace rondo::detail
