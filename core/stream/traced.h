// Traced: what RONDO_TRACE records of calls in streams, on any path. It never waits, and no call
// fails because of it.
#pragma once

#include <memory>
#include <vector>

#include "core/stream/request.h"
#include "core/trace/stream_log.h"

namespace rondo::stream {

/// Calls that are put into streams together. Where nothing is traced there are none, and each
/// method is one look.
class Traced {
 public:
  /// The call is being put into its stream for the rank of `state`.
  void add(const detail::CommunicatorState& state, const Request& request, trace::Way way,
           bool captured);
  /// What comes next into `stream` is the first of them; a host function takes the time. The
  /// stream's context must be current.
  void begin(cuda::Stream stream) const noexcept { put(stream, false); }
  /// What is in `stream` is all of them.
  void end(cuda::Stream stream) const noexcept { put(stream, true); }

 private:
  struct Notes;
  struct Moment;
  void put(cuda::Stream stream, bool is_end) const noexcept;
  static void happen(void* moment) noexcept;

  std::shared_ptr<Notes> notes_{};  ///< with the host functions to come; null: no calls
};

}  // namespace rondo::stream
