// What transports that connect in the background keep:
//
// - ChannelTable: channels by peer and lane, made at first use. It knows which of them this rank
//   waits to see connected.
// - RareLook: when to look at rare things.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace rondo {

/// Owns channels; where they are stays. One thread at a time.
template <class Sender, class Receiver>
class ChannelTable {
 public:
  using End = std::pair<int, int>;  ///< peer and lane

  /// The channel, and whether it is new: then `make()` gave it.
  template <class Make>
  std::pair<Sender&, bool> sender(const End& end, Make make) {
    return made(senders_, end, make);
  }
  template <class Make>
  std::pair<Receiver&, bool> receiver(const End& end, Make make) {
    return made(receivers_, end, make);
  }
  /// Null where there is none yet.
  Sender* find_sender(const End& end) const { return found(senders_, end); }
  Receiver* find_receiver(const End& end) const { return found(receivers_, end); }

  const std::map<End, std::unique_ptr<Sender>>& senders() const { return senders_; }
  const std::map<End, std::unique_ptr<Receiver>>& receivers() const { return receivers_; }

  /// This rank, and not only its peer, wants the receiver, which is there. True the first time.
  bool want(const End& end) { return wanted_.insert(end).second; }
  /// Counts the senders, and the receivers that this rank wants, of which `waits(channel)` is true.
  template <class Waits>
  std::ptrdiff_t count_wanted(Waits waits) const {
    return std::ranges::count_if(senders_,
                                 [&](const auto& entry) { return waits(*entry.second); }) +
           std::ranges::count_if(wanted_,
                                 [&](const End& end) { return waits(*receivers_.at(end)); });
  }

 private:
  template <class Channel, class Make>
  static std::pair<Channel&, bool> made(std::map<End, std::unique_ptr<Channel>>& channels,
                                        const End& end, Make make) {
    if (Channel* const there = found(channels, end)) return {*there, false};
    // Made first: where that throws, the table has no empty place.
    std::unique_ptr<Channel> channel = make();
    return {*channels.emplace(end, std::move(channel)).first->second, true};
  }
  template <class Channel>
  static Channel* found(const std::map<End, std::unique_ptr<Channel>>& channels, const End& end) {
    const auto at = channels.find(end);
    return at == channels.end() ? nullptr : at->second.get();
  }

  std::map<End, std::unique_ptr<Sender>> senders_{};
  std::map<End, std::unique_ptr<Receiver>> receivers_{};
  std::set<End> wanted_{};
};

/// Says at idle calls when to look at what is costly to look at; the clock is costly itself.
class RareLook {
 public:
  explicit RareLook(std::chrono::milliseconds between) : between_(between) {}

  bool is_due() {
    constexpr unsigned calls = 64;
    if (++idle_ % calls != 0) return false;
    const auto now = Clock::now();
    if (now - looked_ < between_) return false;
    looked_ = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds between_;
  unsigned idle_ = 0;
  Clock::time_point looked_{};
};

}  // namespace rondo
