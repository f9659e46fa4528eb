// Lifetime: whether a communicator can be used, and what becomes of its calls when it cannot.
#pragma once

#include <atomic>
#include <exception>
#include <optional>

#include "core/communicator/sends_to_self.h"
#include "core/communicator/tracing.h"
#include "core/communicator/watchdog.h"
#include "core/control/control.h"
#include "core/execute/engine.h"

namespace rondo::detail {

/// Under the progress lock, but for failure(), untold() and note_told().
class Lifetime {
 public:
  /// What a failure concerns. All outlive it.
  struct Parts {
    ControlChannel& control;
    Engine& engine;
    SendsToSelf& to_self;
    Watchdog& watchdog;
    Tracing& tracing;
    Whole* whole;  ///< what the communicator is a part of; null: of nothing
  };
  Lifetime(int rank, const Parts& parts);

  int rank() const { return rank_; }
  ControlChannel& control() const { return parts_.control; }
  /// Throws where the communicator was finalized.
  void require_not_finalized() const;
  /// Throws where it was finalized or has failed.
  void require_usable();
  bool is_finalized() const { return finalized_; }
  /// False where it was finalized before.
  bool finalize() { return !std::exchange(finalized_, true); }
  /// An exception that came later is on its way.
  bool is_in_exception() const { return std::uncaught_exceptions() > exceptions_; }

  /// Nothing is under way.
  bool is_idle() const {
    return parts_.engine.idle() && parts_.to_self.empty() &&
           parts_.engine.waits_in_service() == nullptr;
  }
  /// Something is under way, or peers are served.
  bool has_work() const { return parts_.engine.serves() || !is_idle(); }
  /// The rank that this one waits for in a send or recv by itself, or in the service, and for
  /// nothing else; else nothing.
  std::optional<Awaited> awaited() const;
  /// Runs `body`. What it throws fails the communicator, and so all that is under way.
  template <class Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const Error& error) {
      fail(error);
    } catch (const std::exception& error) {  // no memory, say: the peers must hear of it too
      fail(Error(ErrorCode::internal, error.what(), {.rank = rank_}));
    }
  }

  /// Why no further call can succeed, if so.
  std::optional<Error> failure() const;
  /// A disagreement between ranks that no call of this rank has reported, as it waited for no rank.
  std::optional<Error> untold() const;
  bool is_told() const { return told_.load(std::memory_order_relaxed); }
  /// Notes that the failure was reported, by a call or in another way.
  void note_told() { told_.store(true, std::memory_order_relaxed); }

 private:
  void fail(const Error& error);

  const int rank_;
  const int exceptions_ = std::uncaught_exceptions();  ///< on their way when it was made
  const Parts parts_;
  bool finalized_ = false;
  std::atomic<bool> told_{false};  ///< a call has failed with the failure. Relaxed: guards nothing
};

}  // namespace rondo::detail
