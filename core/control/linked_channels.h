// The channels of a rank, and what they know of its connection to the coordinator. Private to
// core/control.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "core/control/member_channel.h"

namespace rondo::control {

/// What the connection to the coordinator is.
enum class Link {
  there,
  left,  ///< the coordinator has ended in order
  lost,  ///< it broke; another coordinator may come
  gone,  ///< and none came
};

/// Any thread.
class LinkedChannels {
 public:
  void add(MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_.add(channel);
    tell(channel);
  }
  void remove(const MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_.remove(channel);
  }
  void with(std::uint64_t number, auto&& action) {
    const std::lock_guard lock(mutex_);
    if (MemberChannel* const found = channels_.find(number)) action(*found);
  }
  bool is_linked() {
    const std::lock_guard lock(mutex_);
    return link_ == Link::there;
  }
  /// All channels, and those to come, learn of it. `words`: the path that broke, of Link::lost; why
  /// none came, of Link::gone.
  void conclude(Link link, const std::string& words = {}) {
    const std::lock_guard lock(mutex_);
    link_ = link;
    (link == Link::lost ? path_ : why_) = words;
    channels_.for_each([this](MemberChannel& channel) { tell(channel); });
  }
  /// Another coordinator is there. What the channels tell it.
  std::vector<Message> link_again() {
    const std::lock_guard lock(mutex_);
    link_ = Link::there;
    std::vector<Message> news;
    channels_.for_each([&](MemberChannel& channel) {
      for (Message& message : channel.service_came()) news.push_back(std::move(message));
    });
    return news;
  }

 private:
  void tell(MemberChannel& channel) const {
    if (link_ == Link::left) channel.service_left();
    if (link_ == Link::lost || link_ == Link::gone) channel.service_lost(path_);
    if (link_ == Link::gone) channel.service_gone(why_);
  }

  /// Held while a channel is called, so that remove() waits for it. It is taken before a channel's
  /// own mutex and TcpControl's.
  std::mutex mutex_;
  ChannelMap channels_;      ///< under mutex_
  Link link_ = Link::there;  ///< under mutex_
  std::string path_{};       ///< under mutex_
  std::string why_{};        ///< under mutex_
};

}  // namespace rondo::control
