// Connection handshake: the messages that the two ends of a channel exchange over a TCP connection,
// before its queue pairs are connected and when an end leaves.
//
//   sender                               receiver
//   offer: its queue pairs, slots   ->
//                                   <-   answer: its queue pairs; or refusal: why not
//   ...                                  frames and credits go by the queue pairs
//   goodbye: frames sent            <->  goodbye: frames released
//
// A connection that ends without a goodbye means that the peer's process died.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/fork.h"
#include "rondo/error.h"
#include "transports/verbs/endpoint_address.h"

namespace rondo::verbs {

enum class HandshakeKind : std::uint32_t { offer = 1, answer, refusal, goodbye };

/// Value type. What a kind does not use stays at its default.
struct HandshakeMessage {
  HandshakeKind kind = HandshakeKind::goodbye;
  std::uint64_t slot_bytes = 0;              ///< offer
  std::uint32_t slots = 0;                   ///< offer
  std::uint64_t frames = 0;                  ///< goodbye: sent, or released
  ErrorCode code = ErrorCode::internal;      ///< refusal
  std::string text{};                        ///< refusal
  std::vector<EndpointAddress> endpoints{};  ///< offer, answer
};

/// One end of the TCP connection. Never blocks; one thread at a time.
class Handshake {
 public:
  Handshake() = default;
  explicit Handshake(UniqueFd socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }
  /// True when the kernel took it. One message fits into a fresh socket's buffer.
  bool say(const HandshakeMessage& message);
  /// The next message once it is here whole. Throws Error{internal} for bytes that are none.
  std::optional<HandshakeMessage> hear();
  /// The peer closed it. hear() has handed out the messages that came before.
  bool ended() const { return ended_; }

 private:
  void read();

  UnforkedFd socket_{};
  std::vector<std::byte> inbox_{};
  bool ended_ = false;
};

}  // namespace rondo::verbs
