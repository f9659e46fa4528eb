// Tests that go through variants of transports.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/catch.h"
#include "tests/transports/world.h"

namespace rondo::testing {

/// Each variant in turn: the test case runs once for every one.
inline Variant any_variant(const std::vector<Variant>& all) {
  const auto index = GENERATE_COPY(range(std::size_t{0}, all.size()));
  return all[index];
}

}  // namespace rondo::testing
