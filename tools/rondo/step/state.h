// The state of the interactive view: a value that keys and the clock change, without a terminal.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool::step {

/// A key as the view knows it; `character` of Kind::character only.
struct Key {
  enum class Kind {
    character,
    left,
    right,
    up,
    down,
    home,
    end,
    enter,
    escape,
    backspace,
    tab,
    back_tab,
  };
  Kind kind = Kind::character;
  char character = '\0';
};

/// What is being typed in the last line.
enum class Prompt { none, round, rank, chunk };

struct State {
  std::size_t round = 0;       ///< rounds that have passed; 0 is the beginning
  std::optional<int> rank{};   ///< the rank that is followed
  std::optional<int> chunk{};  ///< the chunk that is followed
  bool playing = false;
  int speed = 0;         ///< rounds a second: 2 to this power
  bool numbers = false;  ///< show numbers instead of contributions
  bool help = false;
  Prompt prompt = Prompt::none;
  std::string typed{};
  std::string notice{};  ///< shown in the last line until the next key
  bool quit = false;
};

inline constexpr int slowest = -2;
inline constexpr int fastest = 4;

/// Numbers are shown at first where there are any.
State begin(const Explanation& explanation);

State press(const Explanation& explanation, State state, Key key);

/// Goes to the next round while playing. Playing ends after the last one.
State tick(const Explanation& explanation, State state);

/// The time between two ticks.
std::chrono::milliseconds period(const State& state);

}  // namespace rondo::tool::step
