// MergedRun: runs the merged program of a call (core/plan/merge.h) over the channel that all ranks
// of a host read, and in the ranks' own memory.
//
//   enter    show a slice of the input, or say where the buffers lie
//   gather   wait for the slots of the ranks whose memory the program touches; calls that announce
//            their buffers look at all slots and decide alike: windows, copies, or messages after all
//   ops      run a stage's ops; before each later stage, wait for the ranks that made its operands
//   leave    calls in buffers wait until no rank touches this rank's memory any more
//
// Copies that do not fit the control block go in passes, each a call of its own to the channel.
// Before all that, large calls in ordinary memory may turn to messages at once (window_watch.h).
//
// Not thread-safe: the caller holds the communicator's progress lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/control/control.h"
#include "core/execute/combine.h"
#include "core/execute/host_channel.h"
#include "core/execute/operation.h"
#include "core/execute/peer_memory.h"
#include "core/execute/window_watch.h"
#include "core/trace/recorder.h"
#include "core/transport/direct_access.h"

namespace rondo::detail {

class MergedRun {
 public:
  /// `access` and `control` outlive it. `oversubscribed`: more ranks than cores on this host.
  MergedRun(int rank, int ranks, DirectAccess& access, ControlChannel& control,
            bool oversubscribed);

  void set_trace(trace::Recorder* recorder) { trace_ = recorder; }

  /// The ranks' control block is there; else it is asked for.
  bool is_open() { return host_.is_open(); }

  enum class Result : std::uint8_t { waiting, moved, done, by_messages };
  /// Goes on with the operation, which is run to its end before another one. by_messages: the
  /// memory does not allow it, on any rank; nothing has been written. Throws what `access` throws.
  Result run(Operation& operation);
  /// Begins a short operation, with none under way, and ends it too where the peers answer within
  /// some hundred nanoseconds, `looks` looks. True when it has ended; else run() begins or goes on
  /// with it.
  bool run_at_once(Operation& operation, std::uint32_t looks);
  /// What all operations that ended here so far count as sent.
  Given given() const { return given_; }
  /// After a failure, see HostChannel.
  void withdraw(const std::function<void()>& look) noexcept;

 private:
  /// Ops are cut only so that failures are looked at now and then.
  static constexpr std::size_t slice_bytes = std::size_t{1} << 20;

  enum class Phase : std::uint8_t { enter, gather, late, reach, ops, leave, finished };
  using Ranks = HostChannel::Ranks;

  /// How far the call under way is.
  struct Position {
    Phase phase = Phase::finished;
    std::size_t waited = 0;    ///< how many of a list have been waited for
    int stage = 0;             ///< of the program
    std::size_t op = 0;        ///< of the program
    std::size_t elements = 0;  ///< of the op in this pass, done
    std::size_t pass = 0;
  };

  void begin(Operation& operation);
  WindowWatch::Kind kind() const;
  bool goes_by_messages();
  /// Does what the phase wants. False when it must wait; true moves on.
  bool advance();
  bool enter();
  void show_input();
  bool gather();
  void decide();
  Phase after_gather();
  bool show_late();
  bool reach();
  void step(std::uint64_t done, const Ranks& waiting);
  void end();

  bool stage_begins();
  bool run_stage();
  void end_stage();
  bool run_slice(const Op& op);
  void find_outputs(const Op& op);
  void find_sources(const Op& op);
  const std::byte* source(const Operand& operand) const;
  const std::byte* staged_by(std::int32_t rank, const Chunk& chunk) const;
  std::byte* made_by(std::int32_t rank, const Chunk& chunk) const;
  const std::byte* shown_by(std::int32_t rank) const;
  /// In the control block, in calls of one pass.
  std::byte* place_of_input(std::int32_t rank) const;
  void lay_out_shown();
  void make_shown();

  /// Inputs lie in the control block; else peers' buffers are touched.
  bool in_copies() const { return part_ == &call_->ordinary && call_->places == Places::copies; }
  bool in_passes() const { return part_->passes > 1; }
  /// The call needs staging buffers: it shows more than a mailbox holds.
  bool stages() const {
    return in_copies() &&
           (call_->shown_bytes > mailbox_bytes || part_->shows_results() || in_passes());
  }
  bool shows_once() const { return in_copies() && part_->stages() == 1 && !in_passes(); }
  bool announces() const {
    return at_.pass == 0 && (call_->places == Places::buffers || call_->offers_windows);
  }
  /// Whose slots this rank looks at, and who looks at this one's.
  const Ranks& awaited() const {
    return in_copies() && !announces() ? part_->awaited : host_.others();
  }
  const Ranks& readers() const {
    return in_copies() && !announces() ? part_->users : host_.others();
  }
  /// In copies, but this rank offered its window: to show after all.
  bool shows_late(std::int32_t rank) const {
    return in_copies() && announces() && memory_.in_windows(rank);
  }
  void prepare_to_combine() {
    const PreparedCall& prepared = *operation_->prepared;
    combine_.prepare(prepared, prepared.scale * prepared.sum_scale, streaming_);
  }
  HostChannel::Identity identity() const {
    return {operation_->sequence, operation_->fingerprint, operation_->history};
  }

  int rank_;
  HostChannel host_;
  PeerMemory memory_;
  WindowWatch watch_;
  Given given_{};
  trace::Recorder* trace_ = nullptr;

  // The call under way.
  Operation* operation_ = nullptr;
  const SharedCall* call_ = nullptr;
  const SharedPart* part_ = nullptr;
  Position at_{};
  bool by_messages_ = false;
  bool streaming_ = false;

  std::vector<const void*> sources_{};  ///< of the slice, or of all ops in a row
  std::vector<void*> outputs_{};
  Combiner combine_{};
};

}  // namespace rondo::detail
