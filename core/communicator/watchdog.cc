#include "core/communicator/watchdog.h"

#include <string>

#include "core/communicator/diagnosis.h"
#include "core/control/times.h"

namespace rondo::detail {

Watchdog::Watchdog(int rank, ControlChannel& control, const Config& config, Whole* whole)
    : rank_(rank),
      control_(control),
      whole_(whole),
      timeout_(config.timeout.count()),
      from_program_(config.timeout_from_program) {}

void Watchdog::set_timeout(std::chrono::milliseconds timeout) {
  constexpr std::chrono::seconds longest{100'000'000};  // as RONDO_TIMEOUT's
  if (timeout < std::chrono::milliseconds(1) || timeout > longest) {
    throw Error(ErrorCode::invalid_argument,
                "a timeout of " + std::to_string(timeout.count()) + " ms is out of range",
                {.rank = rank_, .remedy = "use at least 1 ms and at most 100000000 s"});
  }
  timeout_.store(timeout.count(), std::memory_order_relaxed);
  from_program_.store(true, std::memory_order_relaxed);
}

Error Watchdog::unexplained_silence() const {
  return Error(ErrorCode::timeout,
               "nothing moved before the deadline and the coordinator does not answer",
               {.rank = rank_,
                .remedy = "look for a stopped or swapped-out rank; " +
                          words_of_raising_timeout(is_from_program()) + " if it is only slow"});
}

std::optional<Error> Watchdog::failure_of_whole(bool expired) const {
  if (whole_ == nullptr) return std::nullopt;
  auto failure = whole_->failure();
  if (failure) {
    whole_->fail(*failure);
  } else {
    whole_->report_stall(expired, timeout(), is_from_program());
  }
  return failure;
}

void Watchdog::act(Silence::Verdict verdict, const std::optional<Awaited>& awaited) {
  if (verdict == Silence::Verdict::wait) return;
  if (const auto failure = failure_of_whole(verdict == Silence::Verdict::expired)) throw *failure;
  if (verdict == Silence::Verdict::lost) throw unexplained_silence();
  tell(control_);
  ask_why(awaited, verdict == Silence::Verdict::expired);
}

void Watchdog::ask_why(const std::optional<Awaited>& awaited, bool expired) {
  if (!awaited) return control_.report_stall(expired);
  control_.report_stall_on(awaited->peer, awaited->what, expired);
}

void Watchdog::await_diagnosis(const std::optional<Awaited>& awaited) {
  detail::await_diagnosis(
      control::times::for_verdict,
      [&] { return control_.failed() || (whole_ != nullptr && whole_->failure()); },
      [&] { ask_why(awaited, false); });
}

}  // namespace rondo::detail
