// The sending end of a channel: see channel_end.h.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "core/transport/transport.h"
#include "transports/verbs/channel_end.h"

namespace rondo::verbs {

class VerbsSendChannel final : public SendChannel, public ChannelEnd {
 public:
  using Clock = std::chrono::steady_clock;

  /// `pairs` queue pairs, to a peer that has these ports.
  VerbsSendChannel(const Edge& edge, int pairs, std::vector<PortName> theirs);
  ~VerbsSendChannel() override;

  /// The peer has been reached: offers it the channel.
  void begin(UniqueFd socket);

  std::span<std::byte> acquire() override;
  void commit(std::size_t bytes, FrameTag tag) override;
  bool sends_from_place() const override { return true; }
  std::size_t send_from(std::span<const std::byte> bytes, FrameTag tag) override;
  bool holds_places() const override { return true; }
  bool handed_over() const override;
  bool flushed() const override;

  /// Call it while handed_over() stays false. The credit comes while the peer is in the same call.
  /// If that takes long, the device is asked whether the frames have arrived.
  void remind(Clock::time_point now);
  /// Makes the device report what it has done with memory that send_from() took.
  void ask_acknowledgements() const;

 private:
  /// What send_from() took may still be read, to be sent for the first time.
  bool holds_place() const;
  void take(const HandshakeMessage& message) override;
  void peer_left(const HandshakeMessage& goodbye) override;
  void offer();
  bool may_send();
  void write_header(std::size_t bytes, FrameTag tag, Travel travel);
  void commit_line(std::size_t bytes, FrameTag tag);
  template <class Send>
  void post(Send send);
  void look();

  int pairs_;
  std::vector<PortName> theirs_;
  std::uint64_t number_ = 0;      ///< of the next frame
  std::uint64_t credited_ = 0;    ///< frames that the peer has released, as far as it told
  std::uint64_t lent_ = 0;        ///< frames up to the last zero-copy one
  mutable bool awaited_ = false;  ///< somebody waits for the credit of those
  std::optional<Clock::time_point> reminded_{};
};

}  // namespace rondo::verbs
