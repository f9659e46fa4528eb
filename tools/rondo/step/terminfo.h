// What terminfo knows of the terminal. Only terminfo.cc includes <term.h>, because that defines
// macros such as `lines`.
#pragma once

namespace rondo::tool::step {

enum class Cursor {
  unknown,  ///< no such terminal in the database
  fixed,    ///< it cannot move its cursor
  moves,
};

/// The cursor of the terminal that $TERM names.
Cursor cursor_of_terminal();

}  // namespace rondo::tool::step
