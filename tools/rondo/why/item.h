// How reports of `rondo why` are set.
#pragma once

#include <cstddef>
#include <string>

#include "tools/rondo/format.h"

namespace rondo::tool::why {

inline constexpr std::size_t width = 80;
inline constexpr std::size_t indent = 12;

/// "label      text", wrapped.
inline std::string item(const std::string& label, const std::string& text) {
  return wrapped(padded(label, indent - 1), words_of(text), indent, width);
}

}  // namespace rondo::tool::why
