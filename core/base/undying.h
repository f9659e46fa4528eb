// Objects of the process that are never destroyed.
#pragma once

#include <memory>
#include <utility>

namespace rondo {

/// A new T, made of `parts`, for a static reference: threads that still run while the process ends may
/// use it. Its memory goes with the process. Parts come by value: a compiler would take the result for
/// a reference into temporary ones.
template <class T, class... Parts>
T& undying(Parts... parts) {
  return *std::make_unique<T>(std::move(parts)...).release();
}

}  // namespace rondo
