// Calls that go from device to device: those of a communicator whose ranks share a machine and have
// a device each, on buffers in device memory. Others go through the host's memory, see
// in_streams.h.
#pragma once

#include <span>
#include <vector>

#include "core/nccl/in_streams.h"

namespace rondo::nccl {

/// Whether any of them is of a communicator that has such calls; else there is nothing to do here.
bool concern_devices(std::span<const Operation> operations);

/// What a group asks of such communicators. Ranks must put a communicator's collectives into their
/// streams in one order, and those ways wait for each other there: so it is the order in which they
/// were asked, whatever way each goes, and that takes rounds.
class BetweenDevices {
 public:
  /// They outlive it.
  explicit BetweenDevices(std::span<const Operation> operations);
  ~BetweenDevices();
  BetweenDevices(const BetweenDevices&) = delete;
  BetweenDevices& operator=(const BetweenDevices&) = delete;

  /// The next round: puts into their streams the next collectives that go from device to device, of
  /// each communicator up to the first one behind others, and behind its last collective all
  /// messages; piece by piece in turn between communicators. Returns the others up to there, to be
  /// put into their streams before the next round. What fails is left out of both. Returns at
  /// once, but for room in queues.
  std::vector<Operation> put(FirstFailure& failure);
  bool has_more() const;

 private:
  class Queue;
  std::vector<Queue> queues_;
  std::vector<Operation> others_{};  ///< of communicators that have no such calls
};

/// Those that need stream order and do not go from device to device.
std::vector<const Member*> members_through_host(std::span<const Operation> operations);

}  // namespace rondo::nccl
