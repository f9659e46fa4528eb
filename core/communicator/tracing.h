// Tracing: recording what a communicator does, where RONDO_TRACE asks for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/communicator/membership.h"
#include "core/trace/recorder.h"

namespace rondo::detail {

/// Under the progress lock, but for is_on() and stream_log().
class Tracing {
 public:
  /// Collective, where RONDO_TRACE is set: notes how far this rank's clock is from rank 0's. `over`:
  /// the transports.
  Tracing(const Membership& membership, const Config& config, const std::string& over,
          const std::shared_ptr<ControlChannel>& control);

  bool is_on() const { return recorder_ != nullptr; }
  /// Null: nothing is recorded.
  trace::Recorder* recorder() const { return recorder_.get(); }
  /// Where calls on GPU buffers are noted; null: nothing is traced.
  std::shared_ptr<trace::StreamLog> stream_log() const {
    return recorder_ ? recorder_->stream_log() : nullptr;
  }
  /// `together`: the other ranks do the same now, so they may be waited for.
  void write(bool together) noexcept;

 private:
  /// Collective: measures how far the clocks are apart, where the ranks' machines differ.
  void compare_clocks();

  int rank_;
  std::shared_ptr<ControlChannel> control_;
  std::vector<HostInfo> hosts_;  ///< by rank
  std::unique_ptr<trace::Recorder> recorder_{};
};

}  // namespace rondo::detail
