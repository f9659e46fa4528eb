#include "bench/rdma/way.h"

#include <sched.h>

#include <algorithm>

#include "bench/common/plain_socket.h"
#include "bench/floor/wire.h"

namespace rondo::bench {
namespace {

// Shorter messages are copied into a slot even where they could go straight from their place.
constexpr std::size_t longest_copied = 1024;

TransportSettings transport_settings(const WaySettings& settings) {
  TransportSettings transport{.communicator = 1};
  transport.interface = settings.interface;
  transport.infiniband.hca = settings.hca;
  transport.infiniband.queue_pairs = settings.queue_pairs;
  return transport;
}

/// Moves data as the executor does: through slots, or without a copy where the channel can do that.
class ChannelWay final : public Way {
 public:
  ChannelWay(Member& member, SharedMemory& meeting, const WaySettings& settings)
      : wire_(member, meeting, settings.name, transport_settings(settings), longest_copied + 1),
        peer_(1 - member.rank()) {}

  ~ChannelWay() override {
    try {
      wire_.drain();
    } catch (const std::exception&) {  // the peer has gone: nobody waits for the rest
    }
  }

  void send(std::span<std::byte> bytes) override {
    each_frame(bytes, [this](auto frame) { return wire_.put(peer_, frame.data(), frame.size()); });
    wire_.progress();
  }
  void receive(std::span<std::byte> bytes) override {
    each_frame(bytes, [this](auto frame) { return wire_.take(peer_, frame.data(), frame.size()); });
  }

 private:
  template <class Move>
  void each_frame(std::span<std::byte> bytes, Move move) {
    while (!bytes.empty()) {
      const auto frame = bytes.first(std::min(bytes.size(), wire_.slot_bytes()));
      while (!move(frame)) wire_.after_look(false);
      wire_.after_look(true);
      bytes = bytes.subspan(frame.size());
    }
  }

  Wire wire_;
  int peer_;
};

/// Plain system calls on one connection without delays: the best that tcp can do here. It polls
/// without sleeping, as rondo and perftest do.
class SocketWay final : public Way {
 public:
  /// Rank 1 listens. Both are bound, so that the packets cross the cable between the addresses.
  SocketWay(Member& member, SharedMemory& meeting, const std::string& address) {
    const auto listener = member.rank() == 1 ? listening_socket(address) : UniqueFd();
    const auto addresses = tell_all(member, meeting, address);
    const auto port = static_cast<int>(member.largest(listener ? port_of(listener) : 0));
    socket_ = listener ? accepted_socket(listener) : connected_socket(address, addresses[1], port);
    prepare(socket_);
  }

  void send(std::span<std::byte> bytes) override { move(bytes, true); }
  void receive(std::span<std::byte> bytes) override { move(bytes, false); }

 private:
  void move(std::span<std::byte> bytes, bool sends) {
    while (!bytes.empty()) {
      const std::size_t moved = move_some(socket_.get(), bytes.data(), bytes.size(), sends);
      if (moved == 0 && ++spins_ % 256 == 0) ::sched_yield();
      bytes = bytes.subspan(moved);
    }
  }

  UniqueFd socket_;
  unsigned spins_ = 0;
};

}  // namespace

std::unique_ptr<Way> make_way(Member& member, SharedMemory& meeting, const WaySettings& settings) {
  if (settings.name == "socket")
    return std::make_unique<SocketWay>(member, meeting, settings.address);
  return std::make_unique<ChannelWay>(member, meeting, settings);
}

}  // namespace rondo::bench
