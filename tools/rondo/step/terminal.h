// The interactive view in a terminal.
#pragma once

#include "tools/rondo/explain/explain.h"

namespace rondo::tool::step {

/// Shows the explanation until the user leaves. The terminal is then as it was before. So it is
/// after an error or a signal that ends the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT), which is
/// raised again. Throws Error{invalid_argument} where input or output is no terminal or the
/// terminal cannot move its cursor, Error{configuration} where rondo was built without ncurses. Not
/// thread-safe: ncurses has one terminal.
void show(const Explanation& explanation);

}  // namespace rondo::tool::step
