// What tests on devices leave out in a build without device kernels.
#pragma once

#include "tests/catch.h"

namespace rondo::test {

inline constexpr bool has_kernels = RONDO_WITH_KERNELS != 0;

/// For a case that is about kernels: says that it is left out, where there are none.
inline bool lacks_kernels() {
  if (!has_kernels) WARN("left out: this build has no device kernels");
  return !has_kernels;
}

}  // namespace rondo::test
