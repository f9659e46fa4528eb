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

// A pause takes 10 to 50 ns, a yield to nobody about 300 ns. Spinning covers a hop between cores
// with ease; whoever waits longer may share its core with the very rank that it waits for, whatever
// the counts say, and then only giving way helps.
Backoff::Backoff(bool crowded) : spins_(crowded ? 16 : 256), yields_(crowded ? 512 : 256) {}

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
