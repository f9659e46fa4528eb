#include "transports/verbs/verbs.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "core/base/log.h"
#include "core/transport/channel_table.h"
#include "rondo/error.h"
#include "transports/tcp/connector.h"
#include "transports/verbs/open_ports.h"
#include "transports/verbs/receive_channel.h"
#include "transports/verbs/send_channel.h"

namespace rondo::verbs {
namespace {

using Clock = std::chrono::steady_clock;
using tcp::Contact;
using tcp::Hello;

constexpr std::size_t preferred_slot_bytes = std::size_t{64} << 10;
constexpr std::uint32_t slots = 8;
static_assert(std::has_single_bit(slots));
// The time between looks at what is rare: new connections, peers that die, asynchronous events.
constexpr std::chrono::milliseconds between_looks{10};
constexpr char separator = '|';

using Channels = ChannelTable<VerbsSendChannel, VerbsReceiveChannel>;
using End = Channels::End;

/// Where a peer listens, and its ports.
struct Address {
  Contact contact{};
  std::vector<PortName> ports{};
};

Address parse_address(const std::string& text) {
  const std::size_t end = text.find(separator);
  if (end == std::string::npos) return {};  // a rank that does not use this transport
  return {tcp::parse_contact(std::string_view(text).substr(0, end)),
          parse_ports(std::string_view(text).substr(end + 1))};
}

class VerbsTransport final : public Transport {
 public:
  explicit VerbsTransport(const TransportSettings& settings)
      : settings_(settings),
        ports_(make_settings(settings.infiniband), settings.rank, settings.index_on_host),
        slots_{.count = slots,
               .bytes = choose_slot_bytes(settings, preferred_slot_bytes, 2 * slots)},
        connector_(settings, [this](const Hello& hello, UniqueFd socket) {
          arrive(hello, std::move(socket));
        }) {}

  ~VerbsTransport() override {
    if (!log_enabled(LogLevel::info, LogSubsystem::net)) return;
    for (const OpenPort* port : ports_.open())
      log(LogLevel::info, settings_.rank, port->account(), LogSubsystem::net);
  }

  std::string_view name() const override { return "verbs"; }
  LinkClass link_class() const override { return LinkClass::network; }
  std::vector<rondo::Port> ports() const override {
    std::vector<rondo::Port> all;
    for (const Port& each : ports_.all()) all.push_back(in_topology(each));
    return all;
  }
  std::string address() const override {
    return tcp::to_text(connector_.contact()) + separator + to_text(ports_.names());
  }
  std::size_t slot_bytes() const override { return slots_.bytes; }
  std::size_t frame_header_bytes() const override { return sizeof(FrameHeader); }
  int depth() const override { return static_cast<int>(slots_.depth()); }

  void meet(std::vector<std::string> addresses) override {
    addresses_.clear();
    for (const std::string& address : addresses) addresses_.push_back(parse_address(address));
  }

  SendChannel& sender(int peer, int lane) override {
    const Address& address = address_of(peer);
    const auto [channel, is_new] = channels_.sender({peer, lane}, [&] {
      return std::make_unique<VerbsSendChannel>(edge(peer, lane), ports_.settings().queue_pairs,
                                                address.ports);
    });
    if (is_new) {
      outstanding_.zero_copy.reserve(channels_.senders().size());
      connect(channel, address.contact, peer, lane);
      count_expected();
    }
    return channel;
  }

  ReceiveChannel& receiver(int peer, int lane) override {
    VerbsReceiveChannel& channel = receiver_at({peer, lane});
    if (channels_.want({peer, lane})) count_expected();
    return channel;
  }

  bool progress() override {
    bool moved = ports_.poll();
    const bool due = look_.is_due();
    settle();
    remind();
    if (expected_ == 0 && !due) return moved;
    moved |= connector_.poll();
    moved |= read_handshake(due);
    if (moved) count_expected();
    if (due) forget_freed();
    if (due) take_events();
    if (due) look_for_breaks();
    return moved;
  }

  bool flushed() const override {
    if (outstanding_.zero_copy.empty()) return true;
    ports_.poll();
    std::erase_if(outstanding_.zero_copy,
                  [](const auto* channel) { return channel->handed_over(); });
    return outstanding_.zero_copy.empty();
  }

  void settle() override {
    if (outstanding_.credits.empty()) return;
    for (VerbsReceiveChannel* channel : outstanding_.credits) channel->tell();
    std::erase_if(outstanding_.credits, [](const auto* channel) { return !channel->owes(); });
  }

  void add_descriptors(std::vector<pollfd>& descriptors) const override {
    connector_.add_descriptors(descriptors);
    ports_.add_descriptors(descriptors);
    const auto add = [&](const auto& channels) {
      for (const auto& [end, channel] : channels) {
        if (channel->descriptor() < 0) continue;
        descriptors.push_back({.fd = channel->descriptor(), .events = POLLIN, .revents = 0});
      }
    };
    add(channels_.senders());
    add(channels_.receivers());
  }

 private:
  Edge edge(int peer, int lane) {
    return {.rank = settings_.rank,
            .peer = peer,
            .lane = lane,
            .slots = slots_,
            .ports = ports_,
            .credit = credits_[{peer, lane}],
            .outstanding = outstanding_};
  }

  const Address& address_of(int peer) const {
    if (static_cast<std::size_t>(peer) < addresses_.size())
      return addresses_[static_cast<std::size_t>(peer)];
    throw Error(ErrorCode::internal, "sender() before meet()",
                {.rank = settings_.rank, .peer = peer});
  }

  VerbsReceiveChannel& receiver_at(const End& end) {
    const auto [channel, is_new] = channels_.receiver(
        end, [&] { return std::make_unique<VerbsReceiveChannel>(edge(end.first, end.second)); });
    if (is_new) outstanding_.credits.reserve(channels_.receivers().size());
    return channel;
  }

  void connect(VerbsSendChannel& channel, const Contact& contact, int peer, int lane) {
    const Hello hello{.to = peer, .lane = lane, .sockets = 1, .slot_bytes = slots_.bytes};
    connector_.connect(
        contact, hello, [&channel](UniqueFd socket) { channel.begin(std::move(socket)); },
        [&channel](const Error& error) { channel.fail(error); });
  }

  void arrive(const Hello& hello, UniqueFd socket) {
    VerbsReceiveChannel& channel = receiver_at({hello.from, hello.lane});
    if (channel.met()) return warn("dropped a second connection for one channel");
    channel.begin(std::move(socket));
  }

  /// Reads the messages that open channels and, if `all`, those which show that peers left.
  bool read_handshake(bool all) {
    bool moved = false;
    watched_.clear();
    ends_.clear();
    for (auto& [end, channel] : channels_.senders()) moved |= read_handshake(*channel);
    for (auto& [end, channel] : channels_.receivers()) moved |= read_handshake(*channel);
    if (!all || watched_.empty() || ::poll(watched_.data(), watched_.size(), 0) <= 0) return moved;
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      if (watched_[i].revents != 0) moved |= ends_[i]->read_handshake();
    }
    return moved;
  }

  bool read_handshake(ChannelEnd& channel) {
    if (!channel.is_open()) return channel.read_handshake();
    if (channel.descriptor() < 0) return false;
    watched_.push_back({.fd = channel.descriptor(), .events = POLLIN, .revents = 0});
    ends_.push_back(&channel);
    return false;
  }

  void take_events() {
    for (OpenPort* port : ports_.open()) {
      while (const auto event = port->next_event()) take_event(*port, *event);
      if (const auto error = port->given_up()) fail_all(*port, nullptr, *error);
    }
  }

  void take_event(OpenPort& port, const OpenPort::Event& event) {
    const auto& [reach, error] = event.report;
    switch (reach) {
      case Reach::nobody:
        return;
      case Reach::back:
        port.note_back();
        return log(LogLevel::info, settings_.rank, error.message(), LogSubsystem::net);
      case Reach::warning:
        return warn(error.message());
      case Reach::port:
        port.note_down(error, retry_time(ports_.settings()));
        return warn(error.message());
      case Reach::queue:
        return fail_all(port, event.pair, error);
      case Reach::device:
        return fail_all(port, nullptr, error);
    }
  }

  void remind() {
    if (outstanding_.zero_copy.empty()) return;
    const auto now = Clock::now();
    for (VerbsSendChannel* channel : outstanding_.zero_copy) channel->remind(now);
  }

  void forget_freed() {
    if (ports_.forget_freed()) return;
    for (const auto& [end, channel] : channels_.senders()) channel->ask_acknowledgements();
  }

  /// Every channel of the port, or those of one queue pair on it.
  void fail_all(const OpenPort& port, const ibv_qp* pair, const Error& error) {
    for (auto& [end, channel] : channels_.senders()) channel->fail_on(port, pair, error);
    for (auto& [end, channel] : channels_.receivers()) channel->fail_on(port, pair, error);
  }

  /// A lost frame leaves its receiver waiting without a sign, while its sender may be done with the
  /// channel. So this is reported here, and not only by the channel.
  void look_for_breaks() {
    std::optional<Error> found;
    const auto look = [&](auto& channels) {
      for (auto& [end, channel] : channels) {
        const Error* const error = channel->find_break();
        if (error != nullptr && !found) found = *error;
      }
    };
    look(channels_.senders());
    look(channels_.receivers());
    if (found) throw Error(*found);
  }

  /// Channels that this rank waits to see connected. While there are any, each progress() looks.
  void count_expected() {
    expected_ = channels_.count_wanted(
        [](const auto& channel) { return !channel.is_open() && !channel.failed(); });
  }

  void warn(std::string_view text) const { log(LogLevel::warn, settings_.rank, text); }

  TransportSettings settings_;
  mutable OpenPorts ports_;  ///< add_descriptors() arms them. Before the channels: goes after them.
  Slots slots_;
  std::vector<Address> addresses_;
  std::map<End, Credit> credits_;
  mutable Outstanding outstanding_{};  ///< flushed() removes those that are settled
  Channels channels_;
  std::vector<pollfd> watched_{};    ///< connections of open channels, one poll() for all
  std::vector<ChannelEnd*> ends_{};  ///< whose they are
  std::ptrdiff_t expected_ = 0;
  RareLook look_{between_looks};
  tcp::Connector connector_;  // last: its callbacks use all of the above
};

}  // namespace

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  return std::make_unique<VerbsTransport>(settings);
}

}  // namespace rondo::verbs
