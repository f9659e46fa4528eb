// Operation: one call under way. Run by an Engine; owned by the communicator's pool.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "core/plan/prepared.h"

namespace rondo::detail {

/// Whether it is progress that `more` bytes of a frame moved behind the first `moved`: where they
/// complete 4 KiB. A trickle is none, or a peer that sends a byte now and then would never be taken
/// for silent. The end of a frame is progress by itself.
constexpr bool is_progress(std::uint32_t moved, std::size_t more) {
  constexpr std::size_t least = 4096;
  return (moved + more) / least != moved / least;
}

/// A frame that goes straight from or to its place.
struct InPlace {
  std::uint32_t moved = 0;     ///< bytes so far
  std::uint32_t checksum = 0;  ///< of the whole frame, where it has one; 0: perhaps not known yet
};

/// An instance is one op of one pass. Instances are numbered in order: each op in turn, with an
/// instance for each of the interleaved passes. Those below `base` are complete. For the `window`
/// after it, `complete` has a bit each. Only the holder of the progress lock touches it, except
/// `done`.
class Operation {
 public:
  static constexpr unsigned window = 64;

  std::shared_ptr<const PreparedCall> prepared{};
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t history = 0;     ///< of a collective: the fingerprints of all before it, mixed
  int point_to_point_peer = -1;  ///< >= 0: a send or receive, and with whom
  bool sends = false;            ///< of a send or receive: which
  bool is_part = false;          ///< of a send or receive: an exchange, which is logged, has it
  std::uint64_t submitted = 0;   ///< of a send or receive: how many were submitted before it
  bool shared = false;           ///< in shared memory; else by messages
  std::uint32_t traced = 0;      ///< its number in the trace, where there is one

  /// Position of `base`.
  std::uint64_t pass = 0;  ///< the first of the interleaved ones
  std::uint32_t op = 0;
  std::uint32_t beside = 0;    ///< passes before it among the interleaved ones
  std::uint64_t complete = 0;  ///< bit i: instance base + i is complete
  /// Frames that move in place, by instance % window. All zero again at the end of an operation
  /// that did not fail; after a failure no other one follows.
  std::array<InPlace, window> in_place{};
  std::uint64_t base = 0;

  std::exception_ptr error{};  ///< set before done
  /// Stored with release by the holder of the progress lock, after the last write to the user's
  /// buffers and `error`; loaded with acquire by test() and wait().
  std::atomic<bool> done{true};

  /// See Work::when_complete(). The caller and finish() both change `notice_state`; the second one
  /// calls `notice`. Any thread may ask, which keeps the operation from being reused meanwhile.
  std::function<void()> notice{};
  enum class Notice : unsigned char { none, wanted, passed };
  std::atomic<Notice> notice_state{Notice::none};

  void start(const std::shared_ptr<const PreparedCall>& call, const void* in, void* out) {
    if (prepared != call) prepared = call;  // a repeated call costs no counting
    input = static_cast<const std::byte*>(in);
    output = static_cast<std::byte*>(out);
    point_to_point_peer = -1;
    is_part = false;
    shared = prepared->shared != nullptr;
    pass = 0;
    op = 0;
    beside = 0;
    complete = 0;
    base = 0;
    reopen();
  }
  /// Called directly for an operation that others stand for, which no engine runs.
  void reopen() {
    error = nullptr;
    notice_state.store(Notice::none, std::memory_order_relaxed);  // nobody else has it yet
    done.store(false, std::memory_order_relaxed);  // made visible by the progress lock
  }
  bool is_done() const { return done.load(std::memory_order_acquire); }
  /// The same for a call that only its caller waits for: there is no one to notify.
  void finish_alone() { done.store(true, std::memory_order_release); }
  void finish(std::exception_ptr failure = nullptr) {
    error = std::move(failure);
    // Acquires `notice`, stored by when_complete(); releases that it is too late to be asked.
    // Before `done`: after it this operation may be in use again.
    const Notice asked = notice_state.exchange(Notice::passed, std::memory_order_acq_rel);
    const std::function<void()> call =
        asked == Notice::wanted ? std::exchange(notice, nullptr) : nullptr;
    done.store(true, std::memory_order_release);
    done.notify_all();
    if (call) call();
  }
  void when_complete(std::function<void()> call) {
    notice = std::move(call);
    Notice none = Notice::none;
    // Pairs with the exchange in finish().
    if (notice_state.compare_exchange_strong(none, Notice::wanted, std::memory_order_acq_rel,
                                             std::memory_order_acquire))
      return;
    std::exchange(notice, nullptr)();
  }
};

}  // namespace rondo::detail
