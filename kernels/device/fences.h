// Every fence and ordered access of the device executor. Nothing else orders memory but a team's
// barrier (team.h).
//
// What pairs with what:
//   load_acquire    with store_release of the same word: what was written before the store, by any
//                   thread of a team that met at a barrier in between, is seen after the load.
//   count_up        with other callers of the same word: each one's acquire with all earlier ones'
//                   releases. The last of several teams so sees what all of them did.
//   *_relaxed       order nothing. Words of 8 bytes that carry a flag beside their data need none:
//                   a word is written and read as a whole.
//
// Scope is the system: a peer may be another device or the host. On the device these are PTX
// instructions of the memory model (sm_70 and later), on the host std::atomic_ref. Tests put
// simulations there (tests/device/simulated.h). There are no bare fences, which ThreadSanitizer does
// not know. Data that an acquire has made visible must be read by ordinary loads, never by the
// read-only path (ld.global.nc, __ldg), which bypasses the model.
#pragma once

#include "kernels/device/portable.h"

#ifndef __CUDACC__
#include <atomic>
#include <chrono>
#include <thread>
#endif

namespace rondo::device {

/// Two words written side by side, each whole, the pair in any order.
struct alignas(16) WordPair {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

#ifdef __CUDACC__

__device__ inline std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline std::uint64_t load_relaxed(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline void store_release_32(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline void store_relaxed_32(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline WordPair load_pair_relaxed(const WordPair* pair) {
  WordPair value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"(pair)
               : "memory");
  return value;
}
__device__ inline void store_pair_relaxed(WordPair* pair, WordPair value) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(pair), "l"(value.low),
               "l"(value.high)
               : "memory");
}
/// True for the one caller that finds `expected` there and puts `value`; orders nothing.
__device__ inline bool exchange_if(std::uint64_t* word, std::uint64_t expected,
                                   std::uint64_t value) {
  std::uint64_t found;
  asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(found)
               : "l"(word), "l"(expected), "l"(value)
               : "memory");
  return found == expected;
}
/// Adds 1. Returns what was there.
__device__ inline std::uint64_t count_up(std::uint64_t* word) {
  std::uint64_t found;
  asm volatile("atom.acq_rel.sys.global.add.u64 %0, [%1], 1;" : "=l"(found) : "l"(word) : "memory");
  return found;
}
/// Pauses between two looks at a word that has not changed, so that other warps run. `looks`: so many
/// were in vain.
__device__ inline void pause(std::uint64_t /*looks*/) {}

#elif !defined(RONDO_DEVICE_MEMORY)

template <class Word>
std::atomic_ref<Word> atomic(const Word* word) {
  // atomic_ref<const T> comes with C++26; a load writes nothing.
  return std::atomic_ref<Word>(*const_cast<Word*>(word));
}
inline std::uint64_t load_acquire(const std::uint64_t* word) {
  return atomic(word).load(std::memory_order_acquire);
}
inline void store_release(std::uint64_t* word, std::uint64_t value) {
  atomic(word).store(value, std::memory_order_release);
}
inline std::uint64_t load_relaxed(const std::uint64_t* word) {
  return atomic(word).load(std::memory_order_relaxed);
}
inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  atomic(word).store(value, std::memory_order_relaxed);
}
inline void store_release_32(std::uint32_t* word, std::uint32_t value) {
  atomic(word).store(value, std::memory_order_release);
}
inline void store_relaxed_32(std::uint32_t* word, std::uint32_t value) {
  atomic(word).store(value, std::memory_order_relaxed);
}
inline std::uint64_t count_up(std::uint64_t* word) {
  return atomic(word).fetch_add(1, std::memory_order_acq_rel);
}
inline bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) {
  return atomic(word).compare_exchange_strong(expected, value, std::memory_order_relaxed);
}
/// Threads of the host, where a wait may be long: they leave the processors to those waited for.
inline void pause(std::uint64_t looks) {
  if (looks < 256) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

#endif

#ifndef __CUDACC__
inline WordPair load_pair_relaxed(const WordPair* pair) {
  return {load_relaxed(&pair->low), load_relaxed(&pair->high)};
}
inline void store_pair_relaxed(WordPair* pair, WordPair value) {
  store_relaxed(&pair->low, value.low);
  store_relaxed(&pair->high, value.high);
}
#endif

}  // namespace rondo::device
