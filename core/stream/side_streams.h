// SideStreams: the streams in which the parts of a group go on beside each other.
//
// They are made with the communicator, so no call has to wait until the driver has made one. Their
// number is limited. Each takes memory and time, and a device has at most 32 queues for all streams
// of a process. Ranks of up to 8 have one for each peer and direction. In larger groups several
// parts share a stream. Groups that all ranks make alike get on all the same, by the order in which
// their slices are put there (core/direct_device/messages.h).
#pragma once

#include <algorithm>
#include <vector>

#include "core/cuda/handles.h"

namespace rondo::stream {

/// One thread at a time.
class SideStreams {
 public:
  static constexpr std::size_t most = 14;
  /// How many the messages of a group can use.
  static std::size_t usual(int ranks) {
    const auto peers = static_cast<std::size_t>(std::max(ranks - 1, 1));
    return std::min(most, 2 * peers);
  }

  /// Streams of the current context. Throws CudaError.
  explicit SideStreams(int ranks) {
    while (streams_.size() < usual(ranks)) streams_.push_back(cuda::make_stream());
  }

  /// The one for the part of this number.
  cuda::Stream of(std::size_t part) const { return streams_[part % streams_.size()].get(); }
  /// What is in them is done first.
  void close() { streams_.clear(); }
  /// Their context is gone, and they with it.
  void abandon() {
    for (cuda::OwnedStream& stream : streams_) (void)stream.release();
  }

 private:
  std::vector<cuda::OwnedStream> streams_{};
};

}  // namespace rondo::stream
