// Wraps a transport so that it misbehaves on purpose. For contract tests: delay and throttle, which
// are slow yet right. For tests of code that uses transports: drop, corrupt and kill. Counts of
// calls and frames and a seed decide everything, never time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/transport/transport.h"

namespace rondo::testing {

/// What to do. Frames are counted from 0 over all sending channels of the wrapped transport, in the
/// order in which they begin.
struct Mischief {
  std::uint64_t seed = 1;
  /// A frame shows only at the n-th look after it arrived. A slot is handed out at the n-th call.
  int delay_looks = 0;
  /// acquire(), send_from() and receive_into() refuse every other call. receive_into() takes at
  /// most this many bytes at once. 0: as they come.
  std::size_t throttle_bytes = 0;
  /// This frame is never sent.
  std::optional<std::uint64_t> drop_frame{};
  /// One bit of this frame's payload, chosen by the seed, is flipped. Where the payload is empty,
  /// it is a bit of the fingerprint.
  std::optional<std::uint64_t> corrupt_frame{};
  /// One bit of this frame's fingerprint is flipped.
  std::optional<std::uint64_t> corrupt_fingerprint{};
  /// When this frame is to be sent, the link dies. From then on every call on every channel throws
  /// Error{peer_lost}.
  std::optional<std::uint64_t> kill_at_frame{};

  friend bool operator==(const Mischief&, const Mischief&) = default;
};

/// Makes `inner` behave so. Without mischief it is `inner` itself.
std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> inner, const Mischief& mischief);

}  // namespace rondo::testing
