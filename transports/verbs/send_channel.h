// The sending end of a channel: see channel_end.h.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <vector>

#include "core/transport/transport.h"
#include "transports/verbs/channel_end.h"

namespace rondo::verbs {

class VerbsSendChannel final : public SendChannel, public ChannelEnd {
 public:
  /// `pairs` queue pairs, to a peer that has these ports.
  VerbsSendChannel(const Edge& edge, int pairs, std::vector<RailName> theirs);
  ~VerbsSendChannel() override;

  /// The peer has been reached: offers it the channel.
  void begin(UniqueFd socket);

  std::span<std::byte> acquire() override;
  void commit(std::size_t bytes, std::uint64_t fingerprint) override;
  bool sends_from_place() const override { return true; }
  std::size_t send_from(std::span<const std::byte> bytes, std::uint64_t fingerprint) override;
  bool holds_places() const override { return true; }
  bool flushed() const override;

  /// The device may still read memory that send_from() took.
  bool holds_place() const;
  /// Sees to it that it becomes false without another frame.
  void ask_acknowledgements() const;

 private:
  void take(const Letter& letter) override;
  void peer_left(const Letter& goodbye) override;
  void offer();
  bool may_send();
  void write_header(std::size_t bytes, std::uint64_t fingerprint);
  template <class Send>
  void post(Send send);
  void look();

  int pairs_;
  std::vector<RailName> theirs_;
  std::uint64_t number_ = 0;    ///< of the next frame
  std::uint64_t credited_ = 0;  ///< frames that the peer has released, as far as it told
};

}  // namespace rondo::verbs
