// StreamLog: a rank's calls on GPU buffers, in the order in which they were put into their streams.
//
// The events of event.h do not cover them, as no thread holds the communicator's progress lock
// while they run. A call has three times of the host's clock:
//
//   put        the thread that made the call handed it to the driver
//   begun      its stream came to it: everything put there before was done
//   completed  its stream was through with it
//
// Host functions in the stream take the last two, so they come some microseconds late. Calls of one
// group that are put together begin together and are completed together. For a call that is
// captured into a graph only `put` is known: replays are not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/control/call.h"

namespace rondo::trace {

/// Which path a call on GPU buffers takes.
enum class Way : std::uint8_t {
  between_devices,  ///< by memory that the other ranks' devices map
  together,         ///< one thread makes it for all ranks, where the buffers lie
  through_host,     ///< by pinned memory and the host's algorithms, whose events are there, too
  hierarchical,     ///< in steps, by communicators with traces of their own
};
/// "between-devices", "together", "through-host", "hierarchical".
std::string_view name(Way way);

struct StreamCall {
  Call call{};
  int peer = -1;       ///< of a message
  bool sends = false;  ///< a message's direction
  Way way = Way::between_devices;
  bool captured = false;
  std::int64_t put = 0;        ///< nanoseconds of the steady clock, as below
  std::int64_t begun = 0;      ///< 0: not known (yet)
  std::int64_t completed = 0;  ///< likewise
};

/// Thread-safe. Nothing of it calls the driver: host functions may use it.
class StreamLog {
 public:
  /// `limit`: the most calls kept, the newest; at least 1.
  explicit StreamLog(std::size_t limit);

  /// Adds a call. Returns the number by which it goes from here on.
  std::size_t add(const StreamCall& call);
  /// Does nothing for a call that is not kept any more.
  void note_begun(std::size_t number, std::int64_t time);
  void note_completed(std::size_t number, std::int64_t time);

  /// What is known now, oldest first.
  std::vector<StreamCall> calls() const;
  /// Calls that are not kept any more.
  std::size_t lost() const;

 private:
  StreamCall* find(std::size_t number);

  const std::size_t limit_;
  mutable std::mutex mutex_{};
  std::deque<StreamCall> calls_{};  ///< under mutex_
  std::size_t lost_ = 0;            ///< number of the first of `calls_`; under mutex_
};

}  // namespace rondo::trace
