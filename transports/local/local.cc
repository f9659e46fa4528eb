#include "transports/local/local.h"

#include <map>
#include <utility>

#include "core/transport/local_exchange.h"
#include "core/transport/ring_channel.h"
#include "rondo/error.h"
#include "transports/local/direct.h"

namespace rondo::local {
namespace {

constexpr std::size_t preferred_slot_bytes = std::size_t{64} << 10;
constexpr std::size_t slots = 8;

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(const TransportSettings& settings)
      : settings_(settings),
        shape_{.slot_bytes = choose_slot_bytes(settings, preferred_slot_bytes, 2 * slots),
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
