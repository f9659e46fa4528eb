// The interactive view as lines of text: what a state of it looks like on a screen of some size.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/explain.h"
#include "tools/rondo/step/state.h"

namespace rondo::tool::step {

/// How a line stands out where the terminal can; it is never needed to understand.
enum class Style { plain, title, heading, keys };

struct Line {
  std::string text{};
  Style style = Style::plain;
};

struct Size {
  std::size_t columns = 80;
  std::size_t lines = 24;
};

/// The least that the view needs.
inline constexpr Size least_size{.columns = 32, .lines = 10};

/// At most size.lines lines of at most size.columns ASCII characters; the last one is the keys',
/// the prompt's or the notice's.
std::vector<Line> view(const Explanation& explanation, const State& state, Size size);

}  // namespace rondo::tool::step
