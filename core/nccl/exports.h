// How a function of the C API is exported: ncclX weakly, so that a profiler can define it, and
// pncclX as another name of the same code, for the profiler to call. rondoX likewise.
#pragma once

#include "core/nccl/include/nccl.h"

/// Stands before the definition of `name`.
#define RONDO_NCCL_EXPORT(name)                 \
  extern "C" {                                  \
  [[gnu::weak]] decltype(name) name;            \
  [[gnu::alias(#name)]] decltype(name) p##name; \
  }                                             \
  static_assert(true, "takes the semicolon that follows the macro")
