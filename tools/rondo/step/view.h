// The interactive view as lines of text, for a screen of a given size.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/explain/explain.h"
#include "tools/rondo/step/state.h"

namespace rondo::tool::step {

/// How a line stands out on terminals that can show it. The text is clear without it.
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

/// At most size.lines lines of at most size.columns ASCII characters. The last line has the keys,
/// the prompt or the notice.
std::vector<Line> view(const Explanation& explanation, const State& state, Size size);

}  // namespace rondo::tool::step
