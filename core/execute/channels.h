// Channels: this rank's channels with all others, over their transports. Each is opened when it is
// first used.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/transport/transport.h"

namespace rondo::detail {

/// The lane of sends and receives, apart from those of schedules.
inline constexpr int point_to_point_lane = most_lanes;

/// Under the progress lock. All throw what a transport throws.
class Channels {
 public:
  /// transports[peer]: how this rank talks to it (own entry null). They outlive it. `checksum`:
  /// frames have one.
  Channels(std::vector<Transport*> transports, bool checksum);

  int ranks() const { return static_cast<int>(transports_.size()); }
  /// None of the transports is a network.
  bool by_memory() const { return by_memory_; }
  SendChannel& sender(int peer, int lane) {
    Link& link = link_to(peer, lane);
    if (link.out == nullptr) open_sender(link, peer, lane);
    return *link.out;
  }
  ReceiveChannel& receiver(int peer, int lane) {
    Link& link = link_to(peer, lane);
    if (link.in == nullptr) link.in = &to(peer).receiver(peer, lane);
    return *link.in;
  }
  bool have_checksums() const { return checksum_; }
  /// "tcp".
  std::string_view name_of(int peer) const { return to(peer).name(); }
  std::size_t frame_header_bytes(int peer) const { return to(peer).frame_header_bytes(); }

  /// Progress of connections and pending writes. True when anything moved.
  bool progress();
  /// The same for pending writes alone.
  bool write_on();
  /// Nothing sent waits for this process: a caller may compute, or block elsewhere, for as long as
  /// it likes once its call is complete, and its peers must not wait for that.
  bool handed_over() const;
  /// The same for a send to, or a receive from, `peer` by itself.
  bool handed_over(int peer, bool sends);
  /// Nothing sent waits in this process.
  bool flushed() const;
  void add_descriptors(std::vector<pollfd>& descriptors) const;

 private:
  struct Link {
    SendChannel* out = nullptr;
    ReceiveChannel* in = nullptr;
  };

  Transport& to(int peer) const { return *transports_[static_cast<std::size_t>(peer)]; }
  Link& link_to(int peer, int lane) {
    return links_[static_cast<std::size_t>(peer) * (most_lanes + 1) +
                  static_cast<std::size_t>(lane)];
  }
  void open_sender(Link& link, int peer, int lane);

  std::vector<Transport*> transports_;   ///< by peer
  std::vector<Transport*> distinct_{};   ///< each once
  std::vector<Link> links_;              ///< by peer and lane
  std::vector<SendChannel*> senders_{};  ///< every one in use
  bool by_memory_ = true;
  bool checksum_;
};

}  // namespace rondo::detail
