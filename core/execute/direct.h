// DirectEngine: runs direct plans (core/plan/direct.h) over a control block (board.h) and the
// ranks' own memory.
//
//   post     show the input, or say where the buffers lie
//   gather   wait for the posts of the ranks whose memory round 0 touches; exposed calls look at
//            all posts and decide alike: windows, copies by the kernel, or messages after all
//   round 0  and for two_shot a second round, after a wait for the ranks that made its operands
//   leave    exposed calls wait until no rank touches this rank's memory any more
//
// Before all that, calls above 16 KiB may turn to messages at once, by the times of earlier calls
// of the kind (core/execute/contest.h).
//
// Not thread-safe: the caller holds the communicator's progress lock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/control/control.h"
#include "core/execute/board.h"
#include "core/execute/contest.h"
#include "core/execute/operation.h"
#include "core/trace/recorder.h"
#include "core/transport/direct_access.h"
#include "kernels/cpu/reduce.h"

namespace rondo::detail {

class DirectEngine {
 public:
  /// `access` and `control` outlive the engine. `crowded`: as Engine's.
  DirectEngine(int rank, int ranks, DirectAccess& access, ControlLine& control, bool crowded);

  void set_trace(trace::Recorder* recorder) { trace_ = recorder; }

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
  /// The operation, on whichever path, has ended.
  void finished() {
    if (turn_.timed || turn_.watched) stop_clock();
  }
  /// After a failure: tells the peers that this rank's memory is out of bounds and waits, for some
  /// seconds at most, until none of them is still at work on it.
  /// `look`: lets the transports notice which ranks died.
  void withdraw(const std::function<void()>& look) noexcept;

 private:
  /// Copies by the kernel land in a staging slice that the second-level cache holds together with
  /// the other operands; mapped memory is cut only so that failures are looked at now and then.
  static constexpr std::size_t copied_slice_bytes = std::size_t{128} << 10;
  static constexpr std::size_t mapped_slice_bytes = std::size_t{1} << 20;

  enum class Stage : std::uint8_t {
    enter,
    gather,
    late,
    resolve,
    round_0,
    round_1,
    leave,
    finished
  };
  using Ranks = std::vector<std::int32_t>;

  void begin(Operation& operation);
  /// Does what the stage wants. False when it must wait; true moves on.
  bool advance();
  bool enter();
  void show_input(Post& post);
  void announce(Post& post);
  bool gather();
  bool check(int peer, const Post& post);
  void decide();
  bool goes_by_messages();
  bool compares_times() const { return turn_.settles || turn_.hears; }
  /// For ranks that compared times, the result holds for this call already.
  bool wants_messages() const {
    return compares_times() ? contest_.faster(kind_) == Contest::Way::messages : turn_.looks;
  }
  void stop_clock();
  Contest::Times times_to_tell() const;
  void settle_contest();
  void tell_of_contest() const;
  Stage after_gather();
  bool show_late();
  bool resolve();
  std::byte* base_of(int peer, const Exposed& place, std::size_t bytes, bool& waiting);
  void lay_out_shown();
  void make_shown();
  const std::byte* shown_by(std::int32_t peer) const;
  bool round(std::size_t number);
  bool slice(std::size_t number, const Move& move);
  void collect_sources(std::size_t number, const Move& move, std::size_t bytes);
  void collect_outputs(const Move& move);
  bool is_mapped(std::size_t number, std::int32_t peer) const;
  bool all_mapped(std::size_t number, const Move& move) const;
  /// Memory of a round's operand at an element of the index space, where it is mapped ...
  const std::byte* source(std::size_t number, std::int32_t peer, std::size_t element) const;
  /// ... and its address in the peer, for get().
  std::uint64_t source_address(std::size_t number, std::int32_t peer, std::size_t element) const;
  void finish_step(std::uint64_t step, const Ranks& waiting);
  bool reached(std::int32_t peer, std::uint64_t step);
  bool passed(const Ranks& ranks, std::uint64_t step);
  /// A place in this rank's part of the control block, and its readers, a bit for each rank.
  struct Use {
    std::uint64_t call = 0;
    std::uint64_t readers = 0;
  };
  /// Nobody reads it any more.
  bool is_over(const Use& use);
  bool take_places();
  void claim_next_places();
  bool is_there(std::int32_t peer, const std::function<void()>& look) noexcept;

  void end() {
    stage_ = Stage::finished;
    given_.messages += part_->given.messages;
    given_.bytes += part_->given.bytes;
  }

  bool is_staged() const { return staged_; }
  /// The call needs the stage: it shows more than a note holds.
  bool fills_stage() const {
    return staged_ && (call_->shown_bytes > note_bytes || part_->plan.mode == DirectMode::two_shot);
  }
  bool shows_once() const { return staged_ && part_->plan.mode == DirectMode::one_shot; }
  bool announces() const { return !call_->staged || call_->offers_windows; }
  /// All ranks look at all ranks' posts.
  bool looks_at_all() const { return !staged_ || turn_.settles; }
  /// Staged, but this rank offered its window: to show after all.
  bool shows_late(std::int32_t rank) const {
    return staged_ && call_->offers_windows &&
           announcements_[static_cast<std::size_t>(rank)].in_windows != 0;
  }
  void find_reduction();
  const DirectCall::Part& part() const { return *part_; }

  int rank_;
  DirectAccess& access_;
  ControlLine& control_;
  Board board_{};
  Ranks others_{};
  std::uint64_t others_bits_ = 0;  ///< the same, a bit each
  std::uint64_t places_;           ///< of posts and notes, in turn
  std::uint64_t over_ = 0;         ///< all others have ended this call, and those before it

  // The call under way.
  Operation* operation_ = nullptr;
  const DirectCall* call_ = nullptr;
  const DirectCall::Part* part_ = nullptr;
  std::uint64_t number_ = 0;  ///< of the direct call
  Stage stage_ = Stage::finished;
  bool staged_ = false;  ///< inputs lie in the control block; else peers' buffers are touched
  bool by_messages_ = false;
  bool streaming_ = false;
  std::size_t waited_ = 0;    ///< how many of a list have been waited for
  std::size_t move_ = 0;      ///< of the round
  std::size_t elements_ = 0;  ///< of the move, done
  std::uint64_t reported_mismatch_ = 0;

  Contest contest_;
  Contest::Kind kind_{};  ///< of the call under way, where it is measured
  Contest::Turn turn_{};
  std::chrono::steady_clock::time_point began_{};

  Given given_{};

  // What is known of each rank.
  std::vector<std::uint64_t> seen_{};  ///< newest step seen
  std::vector<std::uint64_t> freed_{};
  std::vector<std::byte*> inputs_{};  ///< exposed: mapped; null: reached by get()
  std::vector<std::byte*> outputs_{};
  std::vector<Announcement> announcements_{};
  std::array<Use, most_places> posts_{};  ///< the last use of each, and of its note
  std::array<Use, 2> stages_{};

  trace::Recorder* trace_ = nullptr;
  std::vector<const void*> sources_{};
  std::vector<void*> destinations_{};
  std::vector<std::byte> staging_{};
  ReductionKernel reduction_{};  ///< of the last call that reduced
};

}  // namespace rondo::detail
