// Carries out an operation, by its number.
#pragma once

#include "tools/trainer/math/kernels.h"

namespace rondo::train {

/// The kernel's name in the image for devices, the threads of a block, and those that share a row.
inline constexpr const char* kernel_name = "rondo_train";
inline constexpr unsigned block_threads = 256;
inline constexpr unsigned warp_lanes = 32;

/// A single thread, which has everything to itself.
struct OneLane {
  RONDO_TRAIN_BOTH static constexpr std::size_t lane() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t lanes() { return 1; }
  RONDO_TRAIN_BOTH static constexpr std::size_t thread() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t threads() { return 1; }
  RONDO_TRAIN_BOTH static constexpr std::size_t group() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t groups() { return 1; }
  template <class T>
  RONDO_TRAIN_BOTH static T sum(T own) {
    return own;
  }
  template <class T>
  RONDO_TRAIN_BOTH static T largest(T own) {
    return own;
  }
  RONDO_TRAIN_BOTH static void all_done() {}
};

/// Does this thread's part of a call.
template <class Lanes>
RONDO_TRAIN_BOTH inline void run(const Call& call, const Lanes& lanes) {
#define RONDO_TRAIN_RUN(name) \
  case Kernel::name:          \
    return kernels::name(call, lanes);
  switch (call.kernel) { RONDO_TRAIN_KERNELS(RONDO_TRAIN_RUN) }
#undef RONDO_TRAIN_RUN
}

}  // namespace rondo::train
