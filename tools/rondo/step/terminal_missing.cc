// Built where ncurses's headers are missing.
#include "rondo/error.h"
#include "tools/rondo/step/terminal.h"

namespace rondo::tool::step {

void show(const Explanation&) {
  throw Error(ErrorCode::configuration, "--step needs ncurses, and this rondo was built without it",
              {.remedy = "install libncurses-dev and build again"});
}

}  // namespace rondo::tool::step
