#include "transports/local/local.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/transport/direct_access.h"
#include "core/transport/local_exchange.h"
#include "core/transport/ring_channel.h"
#include "rondo/error.h"

namespace rondo::local {
namespace {

constexpr std::size_t preferred_slot_bytes = std::size_t{64} << 10;
constexpr std::size_t slots = 8;

// There is one address space, so any address serves like a window.
constexpr std::uint64_t every_window = 1;

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

/// Direct access between threads. They share all memory already; only the control block is made.
class LocalAccess final : public DirectAccess {
 public:
  explicit LocalAccess(const TransportSettings& settings) : settings_(settings) {}

  /// Call it once all ranks have joined the exchange.
  void meet() {
    bells_.clear();
    for (int peer = 0; peer < settings_.ranks; ++peer) {
      bells_.push_back(peer == settings_.rank
                           ? nullptr
                           : settings_.local->doorbell(settings_.communicator, peer));
    }
  }

  std::byte* board(std::size_t bytes) override {
    if (!board_ || bytes != board_bytes_) {
      board_ = settings_.local->board(settings_.communicator, settings_.rank, bytes);
      board_bytes_ = bytes;
    }
    return board_.get();
  }

  void check(int peer) override {
    if (peer == settings_.rank || settings_.local->doorbell(settings_.communicator, peer)) return;
    throw Error(
        ErrorCode::peer_lost, "the peer closed its communicator",
        {.rank = settings_.rank, .peer = peer, .remedy = "look at that rank's own output for why"});
  }

  Exposed expose(const void* memory, std::size_t) const override {
    return {.address = reinterpret_cast<std::uintptr_t>(memory), .window = every_window};
  }
  void offer(const Exposed&, std::span<const std::int32_t>) override {}
  std::uint64_t windows_freed() override { return 0; }

  std::byte* map(int peer, const Exposed& place, std::size_t) override {
    if (place.window != every_window) {
      throw Error(ErrorCode::invalid_argument,
                  "the peer has no window " + std::to_string(place.window),
                  {.rank = settings_.rank, .peer = peer, .remedy = "what expose() returned there"});
    }
    return pointer(place.address);
  }
  void forget(int) override {}

  void wake(int peer) override {
    if (const auto& bell = bells_[static_cast<std::size_t>(peer)]) bell->ring();
  }

 private:
  TransportSettings settings_;
  std::shared_ptr<std::byte> board_{};
  std::size_t board_bytes_ = 0;
  std::vector<std::shared_ptr<PeerDoorbell>> bells_{};  ///< null: itself, or gone before meet()
};

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(const TransportSettings& settings)
      : settings_(settings),
        shape_{.slot_bytes = choose_slot_bytes_on_host(settings, preferred_slot_bytes, 2 * slots),
               .depth = slots},
        access_(settings) {
    exchange().join(settings_.communicator, settings_.rank, *settings_.doorbell);
  }

  ~LocalTransport() override {
    // Marks every channel of this rank, opened or not, before the channels ring the peers.
    exchange().leave(settings_.communicator, settings_.rank);
  }

  std::string_view name() const override { return "local"; }
  std::string address() const override { return "local"; }
  void meet(std::vector<std::string>) override { access_.meet(); }
  DirectAccess* direct_access() override { return &access_; }

  SendChannel& sender(int peer, int lane) override {
    auto& channel = senders_[{peer, lane}];
    if (!channel) {
      channel = std::make_unique<RingSendChannel>(settings_.rank, peer);
      open(*channel, peer, {settings_.communicator, settings_.rank, peer, lane});
    }
    return *channel;
  }

  ReceiveChannel& receiver(int peer, int lane) override {
    auto& channel = receivers_[{peer, lane}];
    if (!channel) {
      channel = std::make_unique<RingReceiveChannel>(settings_.rank, peer);
      open(*channel, peer, {settings_.communicator, peer, settings_.rank, lane});
    }
    return *channel;
  }

  std::size_t slot_bytes() const override { return shape_.slot_bytes; }
  std::size_t frame_header_bytes() const override { return slot_header_bytes; }
  int depth() const override { return static_cast<int>(shape_.depth); }
  bool progress() override { return false; }

 private:
  LocalExchange& exchange() const { return *settings_.local; }

  void open(auto& channel, int peer, const LocalExchange::Edge& edge) {
    channel.open(exchange().ring(edge, shape_), exchange().doorbell(edge.communicator, peer));
  }

  TransportSettings settings_;
  RingShape shape_;
  LocalAccess access_;
  std::map<std::pair<int, int>, std::unique_ptr<RingSendChannel>> senders_;
  std::map<std::pair<int, int>, std::unique_ptr<RingReceiveChannel>> receivers_;
};

}  // namespace

std::string obstacle(const HostInfo& from, const HostInfo& to) {
  if (from.host == to.host && from.process == to.process) return {};
  return "the ranks are not threads of one process";
}

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  if (!settings.local || settings.doorbell == nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        "the local transport needs the ranks to be threads of one process",
        {.rank = settings.rank, .remedy = "use another transport, or Communicator::from_threads"});
  }
  return std::make_unique<LocalTransport>(settings);
}

}  // namespace rondo::local
