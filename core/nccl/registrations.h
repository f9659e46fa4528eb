// The buffers and windows that a program has registered.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace rondo::nccl {

/// A buffer that the client registered.
struct Registration {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  std::uint32_t window = 0;  ///< that peers map; 0: only kept note of
};

/// A communicator's, by the number of their handle. Thread-safe: windows of communicators that do
/// not block are added in the background.
class Registrations {
 public:
  void add(std::uintptr_t number, const Registration& registration) {
    const std::scoped_lock lock(mutex_);
    by_number_[number] = registration;
  }
  /// Nothing: there is none (any more).
  std::optional<Registration> find(std::uintptr_t number) const {
    const std::scoped_lock lock(mutex_);
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return std::nullopt;
    return found->second;
  }
  /// The same, and from here on there is none: of several threads one gets it.
  std::optional<Registration> take(std::uintptr_t number) {
    const std::scoped_lock lock(mutex_);
    const auto taken = by_number_.extract(number);
    if (taken.empty()) return std::nullopt;
    return taken.mapped();
  }

 private:
  mutable std::mutex mutex_{};
  std::map<std::uintptr_t, Registration> by_number_{};  ///< under mutex_
};

}  // namespace rondo::nccl
