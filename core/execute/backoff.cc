#include "core/execute/backoff.h"

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo::detail {
namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Backoff::Backoff(bool crowded) : spins_(crowded ? 16 : 4096), yields_(crowded ? 256 : 64) {}

bool Backoff::pause() {
  ++idle_;
  if (idle_ <= spins_) {
    relax();
    return false;
  }
  if (idle_ <= spins_ + yields_) {
    sched_yield();
    return false;
  }
  return true;
}

}  // namespace rondo::detail
