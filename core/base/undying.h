// Objects of the process that are never destroyed.
#pragma once

#include <memory>
#include <utility>

namespace rondo {

/// A new T, for a static reference: threads that still run while the process ends may use it. Its
/// memory goes with the process.
template <class T>
T& undying(T value) {
  return *std::make_unique<T>(std::move(value)).release();
}

}  // namespace rondo
