// Carries out an operation, by its number.
#pragma once

#include "tools/trainer/math/kernels.h"

namespace rondo::train {

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
  switch (call.kernel) {
    case Kernel::zero:
      return kernels::zero(call, lanes);
    case Kernel::repeat:
      return kernels::repeat(call, lanes);
    case Kernel::add_rows:
      return kernels::add_rows(call, lanes);
    case Kernel::gelu:
      return kernels::gelu(call, lanes);
    case Kernel::gelu_backward:
      return kernels::gelu_backward(call, lanes);
    case Kernel::add:
      return kernels::add(call, lanes);
    case Kernel::layer_norm:
      return kernels::layer_norm(call, lanes);
    case Kernel::layer_norm_rows:
      return kernels::layer_norm_rows(call, lanes);
    case Kernel::layer_norm_columns:
      return kernels::layer_norm_columns(call, lanes);
    case Kernel::embed:
      return kernels::embed(call, lanes);
    case Kernel::embed_tokens:
      return kernels::embed_tokens(call, lanes);
    case Kernel::embed_positions:
      return kernels::embed_positions(call, lanes);
    case Kernel::causal_softmax:
      return kernels::causal_softmax(call, lanes);
    case Kernel::softmax_backward:
      return kernels::softmax_backward(call, lanes);
    case Kernel::cross_entropy:
      return kernels::cross_entropy(call, lanes);
    case Kernel::cross_entropy_backward:
      return kernels::cross_entropy_backward(call, lanes);
    case Kernel::squares:
      return kernels::squares(call, lanes);
    case Kernel::sgd:
      return kernels::sgd(call, lanes);
    case Kernel::adamw:
      return kernels::adamw(call, lanes);
  }
}

}  // namespace rondo::train
