// Connections that may be a rank's or a stranger's: how many wait, and for how long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace rondo {

/// At most 64 wait, beside as many as are expected, none for more than 5 s. Where there are too many
/// the oldest goes after 250 ms, and no further one is taken until then: ranks try again. One thread
/// at a time; `Each` is compared by ==.
template <class Each>
class Newcomers {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t most = 64;
  static constexpr std::chrono::milliseconds patience{5000};
  static constexpr std::chrono::milliseconds least_patience{250};

  struct Late {
    Each who;
    bool made_room;  ///< others waited for its place; else its time was over
  };

  void add(Each each, Clock::time_point now = Clock::now()) {
    all_.push_back({std::move(each), now});
  }
  void remove(const Each& each) {
    std::erase_if(all_, [&](const Waiting& waiting) { return waiting.who == each; });
  }
  void expect(std::size_t count) { expected_ = count; }

  /// Whether to take no further one for now.
  bool is_full() const { return all_.size() >= most + expected_; }
  bool empty() const { return all_.empty(); }
  /// When the oldest's time is over.
  std::optional<Clock::time_point> next() const {
    if (all_.empty()) return std::nullopt;
    return all_.front().since + (is_full() ? least_patience : patience);
  }
  /// Takes out one whose time is over.
  std::optional<Late> take_late(Clock::time_point now = Clock::now()) {
    if (all_.empty() || now < *next()) return std::nullopt;
    Waiting oldest = std::move(all_.front());
    all_.pop_front();
    return Late{std::move(oldest.who), now < oldest.since + patience};
  }
  /// Calls `action` for each.
  template <class Action>
  void for_each(const Action& action) const {
    for (const Waiting& waiting : all_) action(waiting.who);
  }

 private:
  struct Waiting {
    Each who;
    Clock::time_point since;
  };
  std::list<Waiting> all_{};  ///< oldest first
  std::size_t expected_ = 0;
};

}  // namespace rondo
