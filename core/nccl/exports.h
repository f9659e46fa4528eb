// How a function of the C API is exported. ncclX is a weak symbol, so that a profiler can define
// its own. pncclX is a second name of the same code, which the profiler calls. The same holds for
// rondoX.
#pragma once

#include "core/nccl/include/nccl.h"

/// Stands before the definition of `name`.
#define RONDO_NCCL_EXPORT(name)                 \
  extern "C" {                                  \
  [[gnu::weak]] decltype(name) name;            \
  [[gnu::alias(#name)]] decltype(name) p##name; \
  }                                             \
  static_assert(true, "takes the semicolon that follows the macro")
