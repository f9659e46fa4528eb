#include "core/execute/backoff.h"

#include <sched.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo::detail {
namespace {

using std::chrono::microseconds;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr std::uint32_t looks_per_clock = 8;
/// A peer that is in the same call answers within so many looks: neither a pause nor the clock,
/// each as long as several looks, may come between.
constexpr std::uint32_t eager_looks = 16;
/// The same where the peer may well be waiting for the core that this rank runs on.
constexpr std::uint32_t crowded_looks = 8;
static_assert(eager_looks % looks_per_clock == 0 && crowded_looks % looks_per_clock == 0,
              "the clock is first read after the last of them");
constexpr std::chrono::nanoseconds shortest_spin{300};
constexpr microseconds spin_and_yield{200};

}  // namespace

// Time, not counts: a look at shared memory takes nanoseconds, one at a socket half a microsecond.
Backoff::Backoff(bool oversubscribed, bool system_calls)
    : looks_(system_calls     ? 0
             : oversubscribed ? crowded_looks
                              : eager_looks),
      longest_spin_(system_calls || oversubscribed ? microseconds(0) : microseconds(10)),
      spin_(longest_spin_) {}

void Backoff::learn() {
  if (stage_ == Stage::spin) spin_ = std::min(spin_ * 2, longest_spin_);
  if (stage_ == Stage::yield) spin_ = std::max(spin_ / 2, std::min(shortest_spin, longest_spin_));
}

Backoff::Stage Backoff::assess() {
  const auto now = Clock::now();
  if (idle_ == looks_ + 1) since_ = now;
  const auto waited = now - since_;
  return waited < spin_ ? Stage::spin : waited < spin_and_yield ? Stage::yield : Stage::sleep;
}

bool Backoff::pause() {
  if (++idle_ <= looks_) {
    stage_ = Stage::spin;
    return false;
  }
  if (idle_ % looks_per_clock == 1) stage_ = assess();
  if (stage_ == Stage::spin) relax();
  if (stage_ == Stage::yield) sched_yield();
  return stage_ == Stage::sleep;
}

}  // namespace rondo::detail
