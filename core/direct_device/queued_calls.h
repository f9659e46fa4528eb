// QueuedCalls: how many entries of the driver's queues a communicator's calls may take. The driver
// is not asked: streams write a flag when they have done something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace rondo::direct_device {

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
