// What was thrown, as rondo's error.
#pragma once

#include <exception>

#include "rondo/error.h"

namespace rondo {

/// Anything but an Error is a bug, or no memory is left.
inline Error as_error(const std::exception& thrown) {
  const auto* const error = dynamic_cast<const Error*>(&thrown);
  return error != nullptr ? *error : Error(ErrorCode::internal, thrown.what());
}

}  // namespace rondo
