// The channels of a rank, and what they know of its connection to the coordinator. Private to
// core/control.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/control/member_channel.h"

namespace rondo::control {

/// What the connection to the coordinator is.
enum class Link {
  there,
  left,  ///< the coordinator has ended in order; another one may come
  lost,  ///< it broke, and the channels have failed; another one may come
  gone,  ///< none came
};

/// Any thread.
class LinkedChannels {
 public:
  void add(MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_.add(channel);
    tell(channel);
  }
  void remove(MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_.remove(channel);
    if (link_ == Link::there && !channel.has_decided()) return;
    gone_.push_back(channel.service_came(link_ != Link::left));
    if (gone_.size() > most_gone) gone_.pop_front();
  }
  void with(std::uint64_t number, auto&& action) {
    const std::lock_guard lock(mutex_);
    if (MemberChannel* const found = channels_.find(number)) action(*found);
  }
  /// All channels, and those to come, learn of it, unless they know why none came. `words`: of
  /// Link::lost, why its process may live; of Link::gone, why none came.
  void conclude(Link link, const std::string& words = {}) {
    const std::lock_guard lock(mutex_);
    if (link_ == Link::gone) return;
    link_ = link;
    if (link == Link::lost) unproven_ = words;
    if (link == Link::gone) why_ = words;
    channels_.for_each([this](MemberChannel& channel) { tell(channel); });
  }
  /// Another coordinator is there. What the channels tell it.
  std::vector<Message> link_again() {
    const std::lock_guard lock(mutex_);
    const bool lost = unproven_.has_value();
    link_ = Link::there;
    unproven_.reset();
    std::vector<Message> news;
    for (const auto& of_channel : gone_)
      news.insert(news.end(), of_channel.begin(), of_channel.end());
    channels_.for_each([&](MemberChannel& channel) {
      for (Message& message : channel.service_came(lost)) news.push_back(std::move(message));
    });
    news.emplace_back(Told{});
    return news;
  }

 private:
  /// Other ranks may still wait for what the last exchanges of a channel decided, after this rank
  /// has destroyed its communicator: as many as they can be behind.
  static constexpr std::size_t most_gone = 8;

  void tell(MemberChannel& channel) const {
    if (link_ == Link::left) channel.service_left();
    if (unproven_) channel.service_lost(*unproven_);
    if (link_ == Link::gone) channel.service_gone(why_);
  }

  /// Held while a channel is called, so that remove() waits for it. It is taken before a channel's
  /// own mutex and TcpControl's.
  std::mutex mutex_;
  ChannelMap channels_;                      ///< under mutex_
  std::deque<std::vector<Message>> gone_{};  ///< news of channels that are gone; under mutex_
  Link link_ = Link::there;                  ///< under mutex_
  std::optional<std::string> unproven_{};    ///< set where it was lost; under mutex_
  std::string why_{};                        ///< under mutex_
};

}  // namespace rondo::control
