#include "transports/shm/shm.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/fork.h"
#include "core/base/log.h"
#include "core/transport/channel_table.h"
#include "core/transport/ring_channel.h"
#include "rondo/error.h"
#include "transports/shm/direct.h"
#include "transports/shm/handshake.h"
#include "transports/shm/segment.h"

namespace rondo::shm {
namespace {

// Measured with streams of full slots: smaller slots cost bandwidth, larger ones fall out of
// the second-level cache.
constexpr std::size_t preferred_slot_bytes = std::size_t{64} << 10;
constexpr std::size_t slots = 8;
// The time between looks at the sockets.
constexpr std::chrono::milliseconds between_checks{10};

struct Sender {
  Sender(int rank, int peer) : channel(rank, peer) {}
  RingSendChannel channel;
  UnforkedFd socket{};  ///< once connected; the hello has been sent on it
};

struct Receiver {
  Receiver(int rank, int peer) : channel(rank, peer) {}
  RingReceiveChannel channel;
  UnforkedFd socket{};
};

using Channels = ChannelTable<Sender, Receiver>;
using End = Channels::End;

UniqueFd listen_on(const std::string& name, int rank) try {
  return unix_socket::listen_on(name);
} catch (const std::system_error& error) {
  throw Error(ErrorCode::system, std::string("no Unix socket for shared memory: ") + error.what(),
              {.rank = rank, .remedy = "raise the limit of open files, or RONDO_TRANSPORT=^shm"});
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportSettings& settings)
      : settings_(settings),
        shape_{.slot_bytes = choose_slot_bytes_on_host(settings, preferred_slot_bytes, 2 * slots),
               .depth = slots},
        name_(unix_socket::new_name()),
        listener_(UniqueFd(listen_on(name_, settings.rank))),
        access_(settings) {}

  std::string_view name() const override { return "shm"; }
  std::string address() const override { return name_; }
  void meet(std::vector<std::string> addresses) override {
    addresses_ = std::move(addresses);
    access_.meet(addresses_);
  }
  DirectAccess* direct_access() override { return &access_; }
  std::size_t slot_bytes() const override { return shape_.slot_bytes; }
  std::size_t frame_header_bytes() const override { return slot_header_bytes; }
  int depth() const override { return static_cast<int>(shape_.depth); }

  SendChannel& sender(int peer, int lane) override {
    const auto [sender, is_new] = channels_.sender(
        {peer, lane}, [&] { return std::make_unique<Sender>(settings_.rank, peer); });
    if (is_new) {
      count_expected();
      progress();
    }
    return sender.channel;
  }

  ReceiveChannel& receiver(int peer, int lane) override {
    Receiver& receiver = receiver_at({peer, lane});
    channels_.want({peer, lane});
    count_expected();
    if (expected_ > 0) progress();
    return receiver.channel;
  }

  bool progress() override {
    // With nothing expected on the sockets a system call now and then is enough.
    const bool due = look_.is_due();
    if (!due && expected_ == 0 && !access_.is_pressing()) return false;
    if (due) check_connections();
    bool moved = accept_connections();
    moved |= read_hellos();
    for (auto& [end, sender] : channels_.senders()) moved |= advance(end, *sender);
    if (moved) count_expected();
    if (due || access_.is_pressing()) moved |= access_.progress();
    return moved;
  }

 private:
  Errors errors() const { return {settings_.rank}; }

  Receiver& receiver_at(const End& end) {
    const auto make = [&] { return std::make_unique<Receiver>(settings_.rank, end.first); };
    return channels_.receiver(end, make).first;
  }

  /// Channels that this rank waits to see connected. While there are any, each progress() looks.
  void count_expected() {
    expected_ = channels_.count_wanted(
        [](const auto& end) { return !end.channel.is_open() && !end.channel.failed(); });
  }

  // ---- the sender's half of the handshake

  bool advance(const End& end, Sender& sender) {
    if (sender.channel.is_open() || sender.channel.failed()) return false;
    try {
      return sender.socket ? read_welcome(end, sender) : begin(end, sender);
    } catch (const Error& failure) {
      sender.channel.fail(failure);
    } catch (const std::system_error& failure) {
      sender.channel.fail(errors().cannot_connect(end.first, failure));
    }
    sender.socket = {};
    return true;
  }

  bool begin(const End& end, Sender& sender) {
    const auto peer = static_cast<std::size_t>(end.first);
    if (peer >= addresses_.size())
      throw errors().make(ErrorCode::internal, end.first, "sender() before meet()", {});
    const Hello hello{.from = settings_.rank,
                      .to = end.first,
                      .lane = end.second,
                      .communicator = settings_.communicator,
                      .slot_bytes = shape_.slot_bytes,
                      .depth = shape_.depth};
    auto socket = greet(addresses_[peer], hello, *settings_.doorbell);
    if (socket) sender.socket = UnforkedFd(std::move(*socket));
    return static_cast<bool>(sender.socket);
  }

  bool read_welcome(const End& end, Sender& sender) {
    Welcome welcome;
    Received received = receive(sender.socket, bytes_of(welcome));
    if (received.state == Received::State::nothing) return false;
    if (received.state == Received::State::closed) throw errors().peer_died(end.first);
    check_welcome(end, welcome, received);
    sender.channel.open(map_segment(received.descriptors[0], shape_, settings_.rank, end.first),
                        bell_of(end.first, std::span(received.descriptors).subspan(1)));
    watch(sender.socket, end, true);
    return true;
  }

  void check_welcome(const End& end, const Welcome& welcome, const Received& received) const {
    if (received.bytes != sizeof(Welcome) || welcome.magic != protocol_magic ||
        welcome.version != protocol_version) {
      throw errors().other_protocol(end.first);
    }
    if (welcome.verdict == Verdict::no_memory) {
      throw no_memory(welcome.ring_bytes, settings_.rank, end.first);
    }
    if (welcome.verdict == Verdict::refused) {
      throw other_slots(end.first, welcome.slot_bytes);
    }
    if (welcome.verdict == Verdict::no_descriptors || received.descriptors_lost ||
        received.descriptors.size() < 2) {
      throw errors().no_descriptors(end.first);
    }
  }

  // ---- the receiver's half

  bool accept_connections() {
    bool moved = false;
    try {
      while (std::optional<UniqueFd> socket = accept_from(listener_)) {
        moved = true;
        if (same_user(*socket)) {
          unknown_.push_back(std::move(*socket));
        } else {
          warn("dropped a connection of another user");
        }
      }
    } catch (const std::system_error&) {
      throw errors().no_descriptors(-1);
    }
    return moved;
  }

  bool read_hellos() {
    bool moved = false;
    std::erase_if(unknown_, [&](UniqueFd& socket) {
      Hello hello;
      Received received = receive(socket, bytes_of(hello));
      if (received.state == Received::State::nothing) return false;
      moved = true;
      if (received.state == Received::State::closed) return true;
      if (is_ours(hello, received) && hello.lane == direct_lane) {
        access_.answer(hello, std::move(received), std::move(socket));
      } else if (is_ours(hello, received)) {
        answer(hello, std::move(received), std::move(socket));
      } else {
        warn("dropped an unknown connection on the shared-memory socket");
      }
      return true;
    });
    return moved;
  }

  bool is_ours(const Hello& hello, const Received& received) const {
    return received.bytes == sizeof(Hello) && hello.magic == protocol_magic &&
           hello.version == protocol_version && hello.communicator == settings_.communicator &&
           hello.to == settings_.rank && hello.from >= 0 && hello.from < settings_.ranks &&
           hello.lane >= direct_lane;
  }

  void answer(const Hello& hello, Received received, UniqueFd socket) {
    const End end{hello.from, hello.lane};
    Receiver& receiver = receiver_at(end);
    if (receiver.channel.is_open() || receiver.channel.failed()) {
      return warn("dropped a second connection for one channel");
    }
    Welcome welcome{.slot_bytes = shape_.slot_bytes, .ring_bytes = shape_.bytes()};
    try {
      if (received.descriptors.empty()) throw errors().no_descriptors(end.first);
      if (hello.slot_bytes != shape_.slot_bytes || hello.depth != shape_.depth)
        throw other_slots(end.first, hello.slot_bytes);
      auto bell = bell_of(end.first, received.descriptors);
      Segment segment = make_segment(shape_, settings_.rank, end.first);
      std::vector<int> passed{segment.memory.get()};
      for (const int descriptor : settings_.doorbell->descriptors()) passed.push_back(descriptor);
      if (!send(socket, bytes_of(welcome), passed)) throw errors().peer_died(end.first);
      receiver.channel.open(std::move(segment.ring), std::move(bell));
      receiver.socket = UnforkedFd(std::move(socket));
      watch(receiver.socket, end, false);
    } catch (const Error& failure) {
      receiver.channel.fail(failure);
      welcome.verdict = verdict_of(failure);
      send(socket, bytes_of(welcome), {});
    }
  }

  Error other_slots(int peer, std::size_t theirs) const {
    return errors().make(ErrorCode::configuration, peer,
                         "the peer uses slots of " + std::to_string(theirs) +
                             " bytes, this rank of " + std::to_string(shape_.slot_bytes),
                         "set the same RONDO_SLOT_BYTES on every rank");
  }

  static Verdict verdict_of(const Error& failure) {
    if (failure.code() == ErrorCode::out_of_memory) return Verdict::no_memory;
    return failure.code() == ErrorCode::configuration ? Verdict::refused : Verdict::no_descriptors;
  }

  // ---- both

  std::shared_ptr<PeerDoorbell> bell_of(int peer, std::span<UniqueFd> passed) {
    auto& bell = bells_[peer];
    if (!bell) bell = std::make_shared<PeerDoorbell>(passed);
    return bell;
  }

  /// Looks for peers that died, by one poll() for all of them. Called seldom.
  void check_connections() {
    if (watched_.empty() || ::poll(watched_.data(), watched_.size(), 0) <= 0) return;
    for (std::size_t i = watched_.size(); i-- > 0;) {
      if (watched_[i].revents != 0) lose(i);
    }
  }

  /// From now on the end of file on this channel's socket is noticed.
  void watch(const UniqueFd& socket, const End& end, bool sending) {
    watched_.push_back({.fd = socket.get(), .events = POLLRDHUP, .revents = 0});
    owners_.push_back({end, sending});
  }

  void lose(std::size_t index) {
    const auto [end, sending] = owners_[index];
    auto lose_side = [&, peer = end.first](auto& side) {
      side.channel.fail(errors().peer_died(peer));
      side.socket = {};
    };
    sending ? lose_side(*channels_.find_sender(end)) : lose_side(*channels_.find_receiver(end));
    watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(index));
    owners_.erase(owners_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void warn(std::string_view text) const { log(LogLevel::warn, settings_.rank, text); }

  TransportSettings settings_;
  RingShape shape_;
  std::string name_;  ///< of the listener
  UnforkedFd listener_;
  ShmAccess access_;
  std::vector<std::string> addresses_;
  Channels channels_;
  std::vector<UniqueFd> unknown_;  ///< accepted, no hello yet
  std::map<int, std::shared_ptr<PeerDoorbell>> bells_;
  std::ptrdiff_t expected_ = 0;
  RareLook look_{between_checks};
  std::vector<pollfd> watched_;
  std::vector<std::pair<End, bool>> owners_;  ///< of watched_: the channel, and true for a sender
};

}  // namespace

std::string obstacle(const HostInfo& from, const HostInfo& to) {
  if (from.host == to.host) return {};
  return "the ranks are on different machines (" + from.hostname + ", " + to.hostname + ")";
}

std::unique_ptr<Transport> make(const TransportSettings& settings) {
  if (settings.doorbell == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the shm transport needs a doorbell",
                {.rank = settings.rank});
  }
  return std::make_unique<ShmTransport>(settings);
}

}  // namespace rondo::shm
