#include "tests/transports/decorators.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "rondo/error.h"

namespace rondo::testing {
namespace {

/// Shared by a wrapped transport's channels.
struct Mood {
  Mischief mischief{};
  std::uint64_t frames = 0;  ///< begun so far
  bool dead = false;

  void check(int peer) const {
    if (!dead) return;
    throw Error(ErrorCode::peer_lost, "the link was killed by the test", {.peer = peer});
  }
  bool is(const std::optional<std::uint64_t>& chosen) const { return chosen == frames; }
};

/// Says no to the first `n` calls in a row.
class Reluctance {
 public:
  bool refuses(int n) {
    if (refused_ == n) return false;
    ++refused_;
    return true;
  }
  void renew() { refused_ = 0; }

 private:
  int refused_ = 0;
};

/// Lets `limit` bytes through at every other call.
class Throttle {
 public:
  std::size_t allow(std::size_t bytes, std::size_t limit) {
    if (limit == 0) return bytes;
    open_ = !open_;
    return open_ ? std::min(bytes, limit) : 0;
  }

 private:
  bool open_ = false;
};

class WrappedSender final : public SendChannel {
 public:
  WrappedSender(SendChannel& inner, Mood& mood, int peer)
      : inner_(inner), mood_(mood), peer_(peer) {}

  std::span<std::byte> acquire() override {
    mood_.check(peer_);
    if (reluctance_.refuses(mood_.mischief.delay_looks)) return {};
    if (throttle_.allow(1, mood_.mischief.throttle_bytes) == 0) return {};
    slot_ = inner_.acquire();
    return slot_;
  }

  void commit(std::size_t bytes, FrameTag tag) override {
    if (mood_.is(mood_.mischief.kill_at_frame)) mood_.dead = true;
    mood_.check(peer_);
    reluctance_.renew();
    const bool dropped = mood_.is(mood_.mischief.drop_frame);
    spoil(slot_.first(bytes), tag);
    ++mood_.frames;
    // The next acquire() gets a slot that was not committed.
    if (!dropped) inner_.commit(bytes, tag);
  }

  bool sends_from_place() const override { return inner_.sends_from_place(); }

  std::size_t send_from(std::span<const std::byte> bytes, FrameTag tag) override {
    if (mood_.is(mood_.mischief.kill_at_frame)) mood_.dead = true;
    mood_.check(peer_);
    if (left_ == 0 && spoils_next()) return send_spoilt(bytes, tag);
    // The inner channel learns a frame's length from its first call. So only a frame that it has
    // begun can be held back, at every other call.
    if (throttle_.allow(bytes.size(), mood_.mischief.throttle_bytes) == 0) return 0;
    const std::size_t sent = inner_.send_from(bytes, tag);
    if (sent == 0) return 0;
    left_ = bytes.size() - sent;
    if (left_ == 0) ++mood_.frames;
    return sent;
  }

  bool holds_places() const override { return inner_.holds_places(); }
  bool flushed() const override {
    mood_.check(peer_);
    return inner_.flushed();
  }
  bool handed_over() const override {
    mood_.check(peer_);
    return inner_.handed_over();
  }

 private:
  bool spoils_next() const {
    return mood_.is(mood_.mischief.drop_frame) || mood_.is(mood_.mischief.corrupt_frame) ||
           mood_.is(mood_.mischief.corrupt_fingerprint);
  }

  std::size_t send_spoilt(std::span<const std::byte> bytes, FrameTag tag) {
    if (slot_ = inner_.acquire(); slot_.empty()) return 0;
    std::memcpy(slot_.data(), bytes.data(), bytes.size());
    commit(bytes.size(), tag);
    return bytes.size();
  }

  void spoil(std::span<std::byte> payload, FrameTag& tag) const {
    const Mischief& mischief = mood_.mischief;
    const bool of_payload = mood_.is(mischief.corrupt_frame) && !payload.empty();
    if (of_payload) {
      const std::uint64_t bit = mischief.seed * 0x9e3779b97f4a7c15 % (payload.size() * 8);
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    if ((mood_.is(mischief.corrupt_frame) && !of_payload) ||
        mood_.is(mischief.corrupt_fingerprint)) {
      tag.fingerprint ^= std::uint64_t{1} << (mischief.seed % 64);
    }
  }

  SendChannel& inner_;
  Mood& mood_;
  int peer_;
  std::span<std::byte> slot_{};
  std::size_t left_ = 0;  ///< of a frame begun by send_from()
  Reluctance reluctance_{};
  Throttle throttle_{};
};

class WrappedReceiver final : public ReceiveChannel {
 public:
  WrappedReceiver(ReceiveChannel& inner, Mood& mood, int peer)
      : inner_(inner), mood_(mood), peer_(peer) {}

  const Frame* peek() override {
    mood_.check(peer_);
    const Frame* frame = inner_.peek();
    if (frame == nullptr || reluctance_.refuses(mood_.mischief.delay_looks)) return nullptr;
    return frame;
  }

  void release() override {
    mood_.check(peer_);
    reluctance_.renew();
    inner_.release();
  }

  bool receives_into_place() const override { return inner_.receives_into_place(); }

  std::optional<FrameHead> frame_head() override {
    mood_.check(peer_);
    const auto head = inner_.frame_head();
    if (!head || reluctance_.refuses(mood_.mischief.delay_looks)) return std::nullopt;
    return head;
  }

  std::size_t receive_into(std::span<std::byte> destination) override {
    mood_.check(peer_);
    const std::size_t allowed = throttle_.allow(destination.size(), mood_.mischief.throttle_bytes);
    return allowed == 0 ? 0 : inner_.receive_into(destination.first(allowed));
  }

 private:
  ReceiveChannel& inner_;
  Mood& mood_;
  int peer_;
  Reluctance reluctance_{};
  Throttle throttle_{};
};

class WrappedTransport final : public Transport {
 public:
  WrappedTransport(std::unique_ptr<Transport> inner, const Mischief& mischief)
      : inner_(std::move(inner)), mood_{mischief} {}

  std::string_view name() const override { return inner_->name(); }
  LinkClass link_class() const override { return inner_->link_class(); }
  std::vector<Port> ports() const override { return inner_->ports(); }
  std::string address() const override { return inner_->address(); }
  void meet(std::vector<std::string> addresses) override { inner_->meet(std::move(addresses)); }

  SendChannel& sender(int peer, int lane) override {
    auto& channel = senders_[{peer, lane}];
    if (!channel) {
      channel = std::make_unique<WrappedSender>(inner_->sender(peer, lane), mood_, peer);
    }
    return *channel;
  }

  ReceiveChannel& receiver(int peer, int lane) override {
    auto& channel = receivers_[{peer, lane}];
    if (!channel) {
      channel = std::make_unique<WrappedReceiver>(inner_->receiver(peer, lane), mood_, peer);
    }
    return *channel;
  }

  std::size_t slot_bytes() const override { return inner_->slot_bytes(); }
  std::size_t frame_header_bytes() const override { return inner_->frame_header_bytes(); }
  int depth() const override { return inner_->depth(); }
  bool progress() override { return inner_->progress(); }
  bool flushed() const override { return inner_->flushed(); }
  void settle() override { inner_->settle(); }
  void add_descriptors(std::vector<pollfd>& descriptors) const override {
    inner_->add_descriptors(descriptors);
  }

 private:
  std::unique_ptr<Transport> inner_;
  Mood mood_;
  std::map<std::pair<int, int>, std::unique_ptr<WrappedSender>> senders_;
  std::map<std::pair<int, int>, std::unique_ptr<WrappedReceiver>> receivers_;
};

}  // namespace

std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> inner, const Mischief& mischief) {
  if (mischief == Mischief{}) return inner;
  return std::make_unique<WrappedTransport>(std::move(inner), mischief);
}

}  // namespace rondo::testing
