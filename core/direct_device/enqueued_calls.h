// EnqueuedCalls: what a communicator has put into streams, in order, and how far they have come.
// QueuedCalls: how many entries of the driver's queues they may take. The driver is not asked: streams
// and kernels write a flag when they have done something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::direct_device {

/// What one entry of a stream waits for, for reports.
struct Waiting {
  /// One direction of messages with a peer.
  struct Part {
    int peer = 0;
    bool sends = false;
    std::string what{};  ///< "send of 4 x float32"
  };
  /// A counter of one-sided calls that must come so far.
  struct Count {
    int peer = 0;
    int signal = 0;
    std::uint32_t reached = 0;
  };
  std::uint64_t sequence = 0;  ///< of a collective; 0: messages, or one-sided calls
  std::vector<Part> messages{};
  std::vector<Count> counts{};
};

/// Not thread-safe.
class EnqueuedCalls {
 public:
  /// The number of what will be put into a stream next.
  std::uint64_t next() const { return newest_ + 1; }
  void add(Waiting waiting) {
    ++newest_;
    waiting_.push_back(std::move(waiting));
  }
  /// `number`: the lower bits of the newest one that its stream has completed. Calls ended(Waiting)
  /// for each that has ended since the last time. False where there is none.
  template <class Ended>
  bool complete(std::uint32_t number, Ended ended) {
    const std::uint64_t completed = newest_ - (static_cast<std::uint32_t>(newest_) - number);
    if (completed <= completed_) return false;  // after a failure it may step back
    for (; completed_ != completed; ++completed_) {
      ended(waiting_.front());
      waiting_.pop_front();
    }
    return true;
  }
  /// That of `number` will not come to its end: the driver refuses everything. Null: none of it will.
  void abandon(std::optional<std::uint64_t> number) { abandoned_ = number.value_or(newest_); }
  /// The driver has refused a part of a call. What is in streams may go on when all calls count as
  /// complete.
  void disorder() { disordered_ = true; }

  bool is_complete() const { return completed_ == newest_; }
  /// Nothing more of it will complete.
  bool is_over() const { return is_complete() || abandoned_ == newest_; }
  /// No stream needs anything of the communicator any more.
  bool is_out_of_streams() const { return is_complete() && !disordered_; }
  /// What is not complete, in its order.
  const std::deque<Waiting>& waiting() const { return waiting_; }
  /// What is in its stream now; none: a graph's call.
  std::optional<Waiting> oldest() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front();
  }

 private:
  std::uint64_t newest_ = 0;
  std::uint64_t completed_ = 0;    ///< the newest one that is complete
  std::deque<Waiting> waiting_{};  ///< what is not complete
  std::uint64_t abandoned_ = ~std::uint64_t{0};
  bool disordered_ = false;
};

/// Calls that are in their streams whole, and that these may not have completed. Not thread-safe.
class QueuedCalls {
 public:
  /// So many entries of all calls together, about.
  static constexpr std::size_t most_entries = 512;

  void add(std::uint64_t number, std::size_t entries) {
    calls_.push_back({number, entries});
    entries_ += entries;
  }
  /// Forgets the calls up to the one whose number has these lower bits.
  void complete(std::uint32_t number) {
    while (!calls_.empty() && static_cast<std::int32_t>(number - static_cast<std::uint32_t>(
                                                                     calls_.front().number)) >= 0) {
      entries_ -= calls_.front().entries;
      calls_.pop_front();
    }
  }
  bool has_room_for(std::size_t entries) const { return entries_ + entries < most_entries; }

 private:
  struct Call {
    std::uint64_t number;
    std::size_t entries;
  };
  std::deque<Call> calls_{};  ///< by number
  std::size_t entries_ = 0;   ///< of all of them
};

}  // namespace rondo::direct_device
