// How often a watcher looks.
#include "core/direct_device/watcher.h"

#include "tests/catch.h"

namespace rondo::direct_device {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a watcher looks less and less often while nothing happens") {
  milliseconds nap{1};
  for (const int next : {2, 4, 8, 16, 20, 20}) {
    nap = next_nap(nap, false, false);
    CHECK(nap == milliseconds(next));
  }
  CHECK(next_nap(nap, true, false) == milliseconds(1));
}

TEST_CASE("after a failure a watcher never keeps a stream waiting for long") {
  milliseconds nap{20};
  for (int look = 0; look < 1000; ++look) {
    nap = next_nap(nap, false, true);
    CHECK(nap == milliseconds(1));
  }
}

}  // namespace
}  // namespace rondo::direct_device
