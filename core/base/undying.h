// Objects of the process that are never destroyed.
#pragma once

#include <memory>
#include <utility>

namespace rondo {

/// A new T, made of `parts`, for a static reference: threads that still run while the process ends may
/// use it. Its memory goes with the process. Never null. No reference: compilers would take that for one
/// into temporary parts.
template <class T, class... Parts>
T* undying(Parts&&... parts) {
  return std::make_unique<T>(std::forward<Parts>(parts)...).release();
}

}  // namespace rondo
