// printf() into a string, for the lines of reports.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace rondo::train {

/// Gives at most 255 characters; the rest is cut off.
template <class... Values>
std::string print(const char* form, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

}  // namespace rondo::train
