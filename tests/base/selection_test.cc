// What a list of names lets through.
#include "core/base/config.h"
#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo {
namespace {

TEST_CASE("a selection allows, excludes, forces, and refuses what it does not know") {
  const std::vector<std::string_view> known{"local", "shm", "tcp"};
  const Selection all("", known, "RONDO_TRANSPORT");
  CHECK((all.allows("shm") && !all.forces() && !all.restricts()));
  const Selection one("tcp", known, "RONDO_TRANSPORT");
  CHECK((one.allows("tcp") && !one.allows("shm") && one.forces() && one.restricts()));
  const Selection two(" tcp , shm", known, "RONDO_TRANSPORT");
  CHECK((two.allows("tcp") && two.allows("shm") && !two.allows("local") && !two.forces()));
  const Selection rest("^shm", known, "RONDO_TRANSPORT");
  CHECK((rest.allows("tcp") && !rest.allows("shm") && !rest.forces() && rest.restricts()));
  CHECK_THROWS_WITH(Selection("^sm", known, "RONDO_TRANSPORT"),
                    "rondo: RONDO_TRANSPORT=^sm: 'sm' is not a known name (did you mean 'shm'?). "
                    "Try: known names: local, shm, tcp");
  CHECK_THROWS_AS(Selection("^", known, "RONDO_TRANSPORT"), Error);
}

}  // namespace
}  // namespace rondo
