// The buffers and windows that a program has registered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/communicator/one_sided.h"

namespace rondo::nccl {

/// A buffer that the client registered.
struct Registration {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  bool symmetric = false;
  std::uint32_t window = 0;              ///< of GPU memory, that peers map; 0: none
  std::optional<std::uint32_t> block{};  ///< of one-sided calls
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

  /// The one-sided calls on these windows; null: there is none so far.
  std::shared_ptr<detail::OneSided> one_sided() const {
    const std::scoped_lock lock(mutex_);
    return one_sided_;
  }
  void set_one_sided(std::shared_ptr<detail::OneSided> calls) {
    const std::scoped_lock lock(mutex_);
    one_sided_ = std::move(calls);
  }
  /// Why symmetric windows have no one-sided calls; empty: they have, or there is none so far.
  std::string obstacle() const {
    const std::scoped_lock lock(mutex_);
    return obstacle_;
  }
  void set_obstacle(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    obstacle_ = why;
  }

 private:
  mutable std::mutex mutex_{};
  std::map<std::uintptr_t, Registration> by_number_{};  ///< under mutex_
  std::shared_ptr<detail::OneSided> one_sided_{};       ///< under mutex_
  std::string obstacle_{};                              ///< under mutex_
};

}  // namespace rondo::nccl
