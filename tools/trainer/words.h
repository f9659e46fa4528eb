// The trainer's words: lines of reports by tool::format(), and refusals with a remedy.
#pragma once

#include "tools/rondo/format.h"

namespace rondo::train {

using tool::format;
using tool::reject;

inline void require(bool holds, const std::string& message, const std::string& remedy) {
  if (!holds) reject(message, remedy);
}

}  // namespace rondo::train
