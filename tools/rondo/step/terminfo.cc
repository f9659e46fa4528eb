#include "tools/rondo/step/terminfo.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <term.h>
#include <unistd.h>

#include <cstdint>

namespace rondo::tool::step {

Cursor cursor_of_terminal() {
  int reason = 0;
  if (::setupterm(nullptr, STDOUT_FILENO, &reason) != OK) return Cursor::unknown;
  const char* const move = ::tigetstr("cup");  // -1: not a string at all
  const bool moves = move != nullptr && reinterpret_cast<std::intptr_t>(move) != -1;
  ::del_curterm(cur_term);
  return moves ? Cursor::moves : Cursor::fixed;
}

}  // namespace rondo::tool::step
