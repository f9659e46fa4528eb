#include "tools/rondo/step/terminal.h"

// ncurses's macros have the names of functions of the standard library.
#define NCURSES_NOMACROS
#include <ncurses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "tools/rondo/arguments.h"
#include "tools/rondo/step/interruptions.h"
#include "tools/rondo/step/state.h"
#include "tools/rondo/step/terminfo.h"
#include "tools/rondo/step/view.h"

namespace rondo::tool::step {
namespace {

using Clock = std::chrono::steady_clock;

/// ncurses on this process's terminal, which is restored at the end. ncurses keeps its state in
/// globals: one at a time.
class Terminal {
 public:
  Terminal() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
      reject("--step needs a terminal for its input and output",
             "start it without pipes, or leave out --step");
    check_kind();
    screen_ = ::newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) reject("ncurses refuses this terminal", "leave out --step");
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, true);
    ::nodelay(stdscr, true);
    ::set_escdelay(escape_milliseconds);
    accept_cursor_keys();
    ::curs_set(0);
  }
  ~Terminal() {
    ::endwin();
    ::delscreen(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static Size size() {
    return {.columns = static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)),
            .lines = static_cast<std::size_t>(std::max(getmaxy(stdscr), 1))};
  }

  static void resize() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
      return;
    ::resizeterm(size.ws_row, size.ws_col);
    ::wclear(stdscr);  // what the terminal made of its old content is unknown
  }

  static void draw(const std::vector<Line>& lines) {
    ::werase(stdscr);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ::wattrset(stdscr, static_cast<int>(attribute(lines[i].style)));
      ::wmove(stdscr, static_cast<int>(i), 0);
      ::waddnstr(stdscr, lines[i].text.c_str(), static_cast<int>(lines[i].text.size()));
    }
    ::wrefresh(stdscr);
  }

  /// The next key that has been pressed; nothing when there is none.
  static std::optional<Key> key() {
    for (;;) {
      const int code = ::wgetch(stdscr);
      if (code == ERR) return std::nullopt;
      if (const std::optional<Key> known = key_of(code)) return known;
    }
  }

 private:
  static constexpr int escape_milliseconds = 50;  ///< after so long an Esc is a key by itself

  /// Call it before ncurses takes the terminal over.
  static void check_kind() {
    const char* kind = std::getenv("TERM");
    const std::string words =
        kind == nullptr || *kind == '\0' ? "TERM is not set" : "TERM is " + std::string(kind);
    switch (cursor_of_terminal()) {
      case Cursor::unknown:
        reject("--step needs a known terminal, but " + words,
               "TERM=xterm or another one that is known here, or leave out --step");
      case Cursor::fixed:
        reject("--step needs a terminal that can move its cursor, but " + words,
               "another terminal, or leave out --step");
      case Cursor::moves:
        break;
    }
  }

  /// Terminals send cursor keys in two ways, and not always in the one that terminfo names.
  static void accept_cursor_keys() {
    constexpr std::pair<char, int> keys[] = {{'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT},
                                             {'D', KEY_LEFT}, {'H', KEY_HOME}, {'F', KEY_END}};
    for (const auto& [letter, key] : keys)
      for (const char* begin : {"\033[", "\033O"})
        ::define_key((std::string(begin) + letter).c_str(), key);
  }

  static attr_t attribute(Style style) {
    switch (style) {
      case Style::title:
      case Style::keys:
        return A_REVERSE;
      case Style::heading:
        return A_BOLD;
      case Style::plain:
        break;
    }
    return A_NORMAL;
  }

  static std::optional<Key> key_of(int code) {
    using Kind = Key::Kind;
    switch (code) {
      case KEY_LEFT:
        return Key{Kind::left};
      case KEY_RIGHT:
        return Key{Kind::right};
      case KEY_UP:
        return Key{Kind::up};
      case KEY_DOWN:
        return Key{Kind::down};
      case KEY_HOME:
        return Key{Kind::home};
      case KEY_END:
        return Key{Kind::end};
      case KEY_BTAB:
        return Key{Kind::back_tab};
      case KEY_ENTER:
      case '\r':
      case '\n':
        return Key{Kind::enter};
      case KEY_BACKSPACE:
      case '\b':
      case 127:
        return Key{Kind::backspace};
      case '\t':
        return Key{Kind::tab};
      case 27:
        return Key{Kind::escape};
      default:
        break;
    }
    if (code < ' ' || code > '~') return std::nullopt;
    return Key{Kind::character, static_cast<char>(code)};
  }

  SCREEN* screen_ = nullptr;
};

class Session {
 public:
  explicit Session(const Explanation& explanation)
      : explanation_(explanation), state_(begin(explanation)) {}

  /// Returns the signal that ended the view; 0: the user ended it.
  int run() {
    while (!state_.quit && signal_ == 0) {
      Terminal::draw(view(explanation_, state_, Terminal::size()));
      wait();
    }
    return signal_;
  }

 private:
  /// Waits for a key, a signal or the time of the next round.
  void wait() {
    pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {interruptions_.descriptor(), POLLIN, 0}};
    const int came = ::poll(events, 2, milliseconds());
    if (came < 0 && errno != EINTR) signal_ = SIGHUP;
    take_signals();
    if (came > 0 && (events[0].revents & POLLIN) != 0) take_keys();
    // The terminal has gone.
    if (came > 0 && (events[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) signal_ = SIGHUP;
    if (state_.playing && Clock::now() >= next_tick_) {
      state_ = tick(explanation_, state_);
      next_tick_ += period(state_);
    }
  }

  int milliseconds() const {
    if (!state_.playing) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick_ - Clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
  }

  void take_signals() {
    while (const int signal = interruptions_.next()) {
      if (signal == SIGWINCH)
        Terminal::resize();
      else
        signal_ = signal;
    }
  }

  void take_keys() {
    while (const std::optional<Key> key = Terminal::key()) {
      const State before = state_;
      state_ = press(explanation_, state_, *key);
      if (state_.playing && (!before.playing || before.speed != state_.speed))
        next_tick_ = Clock::now() + period(state_);
    }
  }

  const Explanation& explanation_;
  State state_;
  int signal_ = 0;
  Clock::time_point next_tick_{};
  Interruptions interruptions_{};  ///< before the terminal, so that signals let it be restored
  Terminal terminal_{};
};

int run_session(const Explanation& explanation) { return Session(explanation).run(); }

}  // namespace

void show(const Explanation& explanation) {
  if (!explanation.detailed) reject("--step shows up to 64 ranks", "fewer --ranks");
  const int signal = run_session(explanation);
  if (signal == 0) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace rondo::tool::step
