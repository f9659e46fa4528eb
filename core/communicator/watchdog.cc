#include "core/communicator/watchdog.h"

#include <string>
#include <thread>

#include "core/base/awake.h"
#include "core/control/times.h"

namespace rondo::detail {
namespace {

/// A death is known sooner than this. For a rank that left in order this rank has to ask.
constexpr std::chrono::milliseconds between_questions{50};

}  // namespace

Watchdog::Watchdog(int rank, ControlChannel& control, const Config& config)
    : rank_(rank),
      control_(control),
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

void Watchdog::act(Silence::Verdict verdict, const std::optional<Awaited>& awaited) {
  if (verdict == Silence::Verdict::wait) return;
  if (verdict == Silence::Verdict::lost) throw unexplained_silence();
  tell(control_);
  ask_why(awaited, verdict == Silence::Verdict::expired);
}

void Watchdog::ask_why(const std::optional<Awaited>& awaited, bool expired) {
  if (!awaited) return control_.report_stall(expired);
  control_.report_stall_on(awaited->peer, awaited->what, expired);
}

void Watchdog::await_diagnosis(const std::optional<Awaited>& awaited) {
  AwakeClock clock;
  const auto begin = clock.now();
  auto next_question = begin + between_questions;
  for (auto now = begin; !control_.failed() && now < begin + control::times::for_verdict;
       now = clock.now()) {
    if (now >= next_question) {
      ask_why(awaited, false);
      next_question = now + between_questions;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace rondo::detail
