// Transports that misbehave on purpose, wrapped around any other: for contract tests (delay,
// throttle: slow, yet right) and for tests of those who use transports (drop, corrupt, kill).
// Everything is decided by counting calls and frames and by a seed, never by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/transport/transport.h"

namespace rondo::testing {

/// What to do. Frames are counted from 0 over all channels of the wrapped transport's sending side,
/// in the order they are begun.
struct Mischief {
  std::uint64_t seed = 1;
  /// A frame shows only at the n-th look after it arrived; a slot is handed out at the n-th asking.
  int delay_looks = 0;
  /// acquire() and send_from() refuse every other call, receive_into() as well, and takes at most
  /// this many bytes at once. 0: as they come.
  std::size_t throttle_bytes = 0;
  /// This frame is never sent.
  std::optional<std::uint64_t> drop_frame{};
  /// One bit of this frame's payload, chosen by the seed, is flipped; of its fingerprint where the
  /// payload is empty.
  std::optional<std::uint64_t> corrupt_frame{};
  /// One bit of this frame's fingerprint is flipped.
  std::optional<std::uint64_t> corrupt_fingerprint{};
  /// When this frame is to be sent the link dies: from then on every call on every channel throws
  /// Error{peer_lost}.
  std::optional<std::uint64_t> kill_at_frame{};
};

/// `inner` made to behave so.
std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> inner, const Mischief& mischief);

}  // namespace rondo::testing
