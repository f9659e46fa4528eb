// How the trainer refuses what it was given: in words, with a remedy.
#pragma once

#include <string>

#include "rondo/error.h"

namespace rondo::train {

[[noreturn]] inline void refuse(const std::string& message, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, message, {.remedy = remedy});
}

inline void require(bool holds, const std::string& message, const std::string& remedy) {
  if (!holds) refuse(message, remedy);
}

}  // namespace rondo::train
