// The trainer's words: lines of reports by tool::format(), and refusals with a remedy.
#pragma once

#include "tools/rondo/format.h"

namespace rondo::train {

using tool::format;
using tool::reject;

inline void require(bool holds, const std::string& message, const std::string& remedy) {
  if (!holds) reject(message, remedy);
}

inline std::string count_of_ranks(int ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

}  // namespace rondo::train
