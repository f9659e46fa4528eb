// Calls between devices: those of a communicator whose ranks share a host and have a device each,
// on buffers in device memory. Other calls on device buffers go through the host's memory.
#pragma once

#include <vector>

#include "core/base/first_failure.h"
#include "core/dispatch/asked.h"

namespace rondo::dispatch {

/// What a group asks of such communicators. Ranks must put a communicator's collectives into their
/// streams in one order, and the paths wait for each other there. So the order is that in which
/// they were asked for, whatever path each takes. That takes rounds.
class BetweenDevices {
 public:
  /// They outlive it.
  explicit BetweenDevices(AskedSpan group);
  ~BetweenDevices();
  BetweenDevices(const BetweenDevices&) = delete;
  BetweenDevices& operator=(const BetweenDevices&) = delete;

  /// The next round. For each communicator, it puts the next collectives that go from device to
  /// device into their streams, up to the first one that follows a call on another path. After the
  /// last collective it puts all messages. Communicators take turns, piece by piece. Returns the
  /// calls on other paths up to there, for the caller to put into their streams before the next
  /// round. What fails is left out of both. Returns at once, unless it must wait for room in
  /// queues.
  AskedList put(FirstFailure& failure);
  bool has_more() const;

 private:
  class Queue;
  std::vector<Queue> queues_;
  AskedList others_{};  ///< of communicators that have no such calls
};

}  // namespace rondo::dispatch
