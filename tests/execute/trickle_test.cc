// What counts as progress of a frame that moves in parts.
#include <algorithm>

#include "core/execute/operation.h"
#include "tests/catch.h"

namespace rondo::detail {
namespace {

int progress_of(std::size_t frame, std::size_t step) {
  int count = 0;
  for (std::size_t moved = 0; moved < frame; moved += step)
    count += is_progress(static_cast<std::uint32_t>(moved), std::min(step, frame - moved)) ? 1 : 0;
  return count;
}

TEST_CASE("a frame of any steps makes progress once in 4 KiB, at most") {
  for (const std::size_t step : {1, 7, 1448, 4095, 4096}) {
    CAPTURE(step);
    CHECK(progress_of(4095, step) == 0);
    CHECK(progress_of(4096, step) == 1);
    CHECK(progress_of(std::size_t{1} << 20, step) == 256);
  }
  CHECK(progress_of(std::size_t{1} << 20, std::size_t{1} << 20) == 1);
  CHECK_FALSE(is_progress(100, 0));
}

}  // namespace
}  // namespace rondo::detail
