// What a rank and the coordinator have said to each other, whatever connections carried it. One that
// breaks while both live is replaced by another, where both go on from what the other side has got: no
// message is lost, and none comes twice.
//
//   rank                                                       coordinator
//   Hello, with the session's name and the messages got   ->   knows what to send again
//   knows what to send again                             <-    Welcome, with the messages got
//
// Private to core/control.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "core/control/message.h"

namespace rondo::control {

/// One side of it. One thread at a time.
class Session {
 public:
  /// What many sessions send is in memory once.
  using Bytes = std::shared_ptr<const std::string>;
  using Clock = std::chrono::steady_clock;

  Session() = default;
  /// `name`: the nonce of the service in the first connection.
  explicit Session(const Nonce& name) : name_(name) {}

  const Nonce& name() const { return name_; }
  /// Messages that this side has got.
  std::uint64_t received() const { return received_; }

  /// This side sends the encoded message. It is kept until the other side has it.
  void keep(Bytes bytes) { kept_.push_back(std::move(bytes)); }
  /// From the other side. True: it is to hear with received() that the message is here.
  bool take(const Message& message) {
    if (const auto* got = std::get_if<Received>(&message)) forget(got->count);
    if (!is_of_session(message)) return false;
    return ++received_ % between_acknowledgements == 0;
  }
  /// Whether another connection may help: not where several in a row ended soon and brought no message
  /// either way.
  bool may_go_on(Clock::time_point now = Clock::now()) {
    const std::uint64_t moved = received_ + forgotten_;
    const bool lasted = now - std::exchange(ended_, now) >= soon;
    if (std::exchange(moved_, moved) != moved || lasted) in_vain_ = 0;
    return in_vain_++ < most_in_vain;
  }
  /// The other side has got so many. What is to be sent again.
  const std::deque<Bytes>& left_after(std::uint64_t count) {
    forget(count);
    return kept_;
  }

 private:
  /// So the other side keeps no more than that, and what is under way.
  static constexpr std::uint64_t between_acknowledgements = 16;
  static constexpr int most_in_vain = 5;
  static constexpr std::chrono::seconds soon{10};

  void forget(std::uint64_t count) {
    const auto got = count - std::min(count, forgotten_);
    const auto some = std::min<std::uint64_t>(got, kept_.size());
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(some));
    forgotten_ += some;
  }

  Nonce name_{};
  std::uint64_t received_ = 0;
  std::uint64_t forgotten_ = 0;  ///< messages sent before those in kept_
  std::deque<Bytes> kept_{};
  std::uint64_t moved_ = 0;    ///< messages both ways, when it was last to go on
  Clock::time_point ended_{};  ///< then
  int in_vain_ = 0;            ///< how often none moved since
};

}  // namespace rondo::control
