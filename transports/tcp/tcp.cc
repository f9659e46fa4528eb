#include "transports/tcp/tcp.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/log.h"
#include "core/transport/channel_table.h"
#include "rondo/error.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/connector.h"
#include "transports/tcp/graceful_shutdown.h"

namespace rondo::tcp {
namespace {

// Few large system calls beat many small ones. While a rank is inside one, acknowledgements of its
// peer wait for it, and the pages that they free are used again while they are cached. Frames of
// 1 MiB, though, leave a core's cache when they are reduced.
constexpr std::size_t preferred_slot_bytes = std::size_t{512} << 10;
constexpr int most_sockets = 16;
// The time between looks at the listener.
constexpr std::chrono::milliseconds between_looks{2};
// And at what the kernel knows of each connection.
constexpr std::chrono::milliseconds between_path_looks{1000};

using Channels = ChannelTable<TcpSendChannel, TcpReceiveChannel>;
using End = Channels::End;

/// Whether a channel is not connected yet, as far as this rank knows.
struct IsExpected {
  bool operator()(const TcpSendChannel& channel) const {
    return !channel.connected() && !channel.failed();
  }
  bool operator()(const TcpReceiveChannel& channel) const {
    return !channel.settled() && !channel.failed();
  }
};

int usable_sockets(const TransportSettings& settings) {
  return std::clamp(settings.sockets, 1, most_sockets);
}

/// Slots that a rank touches for one peer in one lane: for each socket one to send and one to
/// receive. Zero-copy frames take none. A second slot to send is used only when the kernel falls
/// behind.
std::size_t slots_of(const TransportSettings& settings) {
  return 2 * static_cast<std::size_t>(usable_sockets(settings));
}

FrameSizes sizes_of(const TransportSettings& settings) {
  return {.slot = choose_slot_bytes(settings, preferred_slot_bytes, slots_of(settings)),
          .header = settings.checksum ? FrameSizes::checked_header : FrameSizes::plain_header};
}

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TransportSettings& settings)
      : settings_(settings),
        sockets_(usable_sockets(settings)),
        sizes_(sizes_of(settings)),
        connector_(settings, [this](const Hello& hello, UniqueFd socket) {
          arrive(hello, std::move(socket));
        }) {}

  ~TcpTransport() override {
    std::vector<Connection> used;
    for (const auto& [end, channel] : channels_.senders()) channel->add_connections(used);
    deliver(used);
  }

  std::string_view name() const override { return "tcp"; }
  LinkClass link_class() const override { return LinkClass::network; }
  bool looks_are_system_calls() const override { return true; }
  std::vector<rondo::Port> ports() const override { return connector_.ports(); }
  std::string address() const override { return to_text(connector_.contact()); }
  std::size_t slot_bytes() const override { return sizes_.slot; }
  std::size_t frame_header_bytes() const override { return sizes_.header; }
  int depth() const override { return 2 * sockets_; }
  int depth_of(std::size_t frame_bytes) const override {
    return sockets_ * static_cast<int>(UnsentFrames::depth(sizes_.slot, frame_bytes));
  }

  void meet(std::vector<std::string> addresses) override {
    contacts_.clear();
    for (const std::string& address : addresses) contacts_.push_back(parse_contact(address));
  }

  SendChannel& sender(int peer, int lane) override {
    const auto [channel, is_new] = channels_.sender({peer, lane}, [&] {
      return std::make_unique<TcpSendChannel>(sizes_, sockets_, ends(peer), is_elsewhere(peer),
                                              backlog_);
    });
    if (is_new) {
      backlog_.reserve(channels_.senders().size());
      connect(channel, {peer, lane});
      count_expected();
    }
    return channel;
  }

  ReceiveChannel& receiver(int peer, int lane) override {
    TcpReceiveChannel& channel = receiver_at({peer, lane});
    if (channels_.want({peer, lane})) count_expected();
    return channel;
  }

  bool progress() override {
    bool moved = write_on();
    if (path_look_.is_due()) look_at_paths();
    if (expected_ > 0) count_expected();  // frames may have shown on which connection they come
    if (expected_ == 0 && !look_.is_due()) return moved;
    if (connector_.poll()) {
      count_expected();
      moved = true;
    }
    return moved;
  }

  bool write_on() override {
    bool moved = false;
    // From the back: flush() takes finished channels out.
    for (std::size_t i = backlog_.size(); i-- > 0;) moved |= backlog_[i]->flush();
    return moved;
  }

  bool flushed() const override { return backlog_.empty(); }

  void add_descriptors(std::vector<pollfd>& descriptors) const override {
    connector_.add_descriptors(descriptors);
    for (const auto& [end, channel] : channels_.senders()) channel->add_descriptors(descriptors);
    for (const auto& [end, channel] : channels_.receivers()) channel->add_descriptors(descriptors);
  }

 private:
  Ends ends(int peer) const { return {settings_.rank, peer}; }

  /// Whether the peer is on another machine, as far as addresses tell.
  bool is_elsewhere(int peer) const {
    const auto at = static_cast<std::size_t>(peer);
    if (at >= contacts_.size()) return false;  // connect() complains
    const auto own = static_cast<std::size_t>(settings_.rank);
    return !share_machine(contacts_[at], contacts_[own]);
  }

  TcpReceiveChannel& receiver_at(const End& end) {
    const auto make = [&] {
      return std::make_unique<TcpReceiveChannel>(sizes_, sockets_, ends(end.first));
    };
    return channels_.receiver(end, make).first;
  }

  /// Takes the connections that the peer has made, and makes those that it has not.
  void connect(TcpSendChannel& channel, const End& end) {
    if (static_cast<std::size_t>(end.first) >= contacts_.size()) {
      throw Error(ErrorCode::internal, "sender() before meet()",
                  {.rank = settings_.rank, .peer = end.first});
    }
    const TcpReceiveChannel* const peers = channels_.find_receiver(end);
    for (int i = 0; i < sockets_; ++i) {
      const auto index = static_cast<std::size_t>(i);
      const Connection made = peers == nullptr ? nullptr : peers->of_peer(index);
      if (made) {
        channel.connect(index, made);
      } else {
        begin_connecting(channel, end, i);
      }
    }
  }

  void begin_connecting(TcpSendChannel& channel, const End& end, int socket) {
    const Contact& contact = contacts_[static_cast<std::size_t>(end.first)];
    const auto index = static_cast<std::size_t>(socket);
    const Hello hello{.to = end.first,
                      .lane = end.second,
                      .socket = socket,
                      .sockets = sockets_,
                      .slot_bytes = sizes_.slot};
    connector_.connect(
        contact, hello,
        [this, &channel, end, index](UniqueFd made) {
          if (channel.connected(index)) return;  // by the peer's, which came first
          const auto connection = std::make_shared<const UnforkedFd>(std::move(made));
          channel.connect(index, connection);
          receiver_at(end).connect(index, connection, true, true);
        },
        [this, &channel, end, index](const Error& error) {
          if (channel.connected(index)) return;
          channel.fail(error);
          receiver_at(end).connect_no_more();
        });
  }

  void arrive(const Hello& hello, UniqueFd socket) {
    TcpReceiveChannel& channel = receiver_at({hello.from, hello.lane});
    if (hello.sockets != sockets_ || hello.slot_bytes != sizes_.slot) {
      return channel.fail(different_settings(hello));
    }
    const auto index = static_cast<std::size_t>(hello.socket);
    if (hello.socket >= sockets_ || channel.of_peer(index)) {
      return warn("dropped a second TCP connection for one channel");
    }
    share(channel, hello, std::make_shared<const UnforkedFd>(std::move(socket)));
  }

  /// Where both ranks have made a connection, the lower rank's becomes the common one. The higher
  /// rank's carries only the frames that it had already begun.
  void share(TcpReceiveChannel& channel, const Hello& hello, const Connection& connection) {
    const auto index = static_cast<std::size_t>(hello.socket);
    TcpSendChannel* const sender = channels_.find_sender({hello.from, hello.lane});
    const bool sends = sender != nullptr && !sender->failed();
    const bool lower = settings_.rank < hello.from;
    channel.connect(index, connection, false, !(lower && sends));
    if (lower || !sends) return;
    if (sender->connected(index)) {
      sender->move_to(index, connection);
    } else {
      sender->connect(index, connection);
    }
  }

  Error different_settings(const Hello& hello) const {
    auto describe = [](int sockets, std::size_t bytes) {
      return std::to_string(sockets) + " sockets and slots of " + std::to_string(bytes) + " bytes";
    };
    return Error(ErrorCode::configuration,
                 "the peer uses " + describe(hello.sockets, hello.slot_bytes) + ", this rank " +
                     describe(sockets_, sizes_.slot),
                 {.rank = settings_.rank,
                  .peer = hello.from,
                  .remedy = "set the same RONDO_SOCKETS and RONDO_SLOT_BYTES on every rank"});
  }

  /// Where bytes are under way the kernel itself would try for a quarter of an hour.
  void look_at_paths() {
    for (const auto& [end, channel] : channels_.senders()) channel->check_paths();
  }

  /// Channels whose connections are still to come, as far as this rank knows. While there are any,
  /// each progress() looks.
  void count_expected() { expected_ = channels_.count_wanted(IsExpected()); }

  void warn(std::string_view text) const { log(LogLevel::warn, settings_.rank, text); }

  TransportSettings settings_;
  int sockets_;
  FrameSizes sizes_;
  std::vector<Contact> contacts_;
  Backlog backlog_;
  Channels channels_;
  std::ptrdiff_t expected_ = 0;
  RareLook look_{between_looks};
  RareLook path_look_{between_path_looks};
  Connector connector_;  // last: its callbacks use all of the above
};

}  // namespace

std::string obstacle(const HostInfo&, const HostInfo&) { return {}; }

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  return std::make_unique<TcpTransport>(settings);
}

}  // namespace rondo::tcp
