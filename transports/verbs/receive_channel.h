// The receiving end of a channel: see channel_end.h.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <chrono>
#include <optional>

#include "core/transport/transport.h"
#include "transports/verbs/channel_end.h"

namespace rondo::verbs {

class VerbsReceiveChannel final : public ReceiveChannel, public ChannelEnd {
 public:
  explicit VerbsReceiveChannel(const Edge& edge) : ChannelEnd(edge) {}
  ~VerbsReceiveChannel() override;

  /// The peer has connected; its offer follows.
  void begin(UniqueFd socket);

  const Frame* peek() override;
  void release() override;

  /// The peer does not know yet that this rank has released zero-copy frames.
  bool owes() const;
  /// Tells the peer, where the device has room.
  void tell() { give_slots_back(1); }

 private:
  using Clock = std::chrono::steady_clock;

  void take(const HandshakeMessage& message) override;
  void peer_left(const HandshakeMessage& goodbye) override;
  void answer(const HandshakeMessage& offer);
  void offer_lines();
  void check(const HandshakeMessage& offer) const;
  void refuse(const Error& why);
  std::byte* line() const { return lines_.data() + edge_.slots.of(number_) * Line::bytes; }
  bool in_line() const;
  bool arrived() const;
  const Frame* head(bool is_line);
  void clear_line();
  const Frame* nothing();
  void post_receives();
  /// Sends a credit once the peer does not know of so many releases.
  void give_slots_back(std::uint32_t step);

  std::uint64_t number_ = 0;  ///< of the head frame
  std::uint64_t posted_ = 0;  ///< frames for which a receive was posted
  std::uint64_t lent_ = 0;    ///< frames up to the last released zero-copy one
  bool holding_ = false;      ///< frame_ is the head frame
  Travel head_travel_ = Travel::staged;
  RegisteredMemory lines_{};  ///< one for each slot
  Frame frame_{};
  std::optional<std::uint64_t> sent_{};  ///< by a peer that has left
  Clock::time_point grace_{};            ///< when to stop waiting for the rest of them
};

}  // namespace rondo::verbs
