// Dependants: communicators that abort() of this one ends, too: those of its windows, and those that
// carry its calls in steps.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace rondo::detail {

class CommunicatorState;

/// Any thread.
class Dependants {
 public:
  void add(const std::shared_ptr<CommunicatorState>& state) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(states_, [](const auto& each) { return each.expired(); });
    states_.push_back(state);
  }
  /// Calls visit(state) for each that still lives.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& state : living()) visit(*state);
  }

 private:
  std::vector<std::shared_ptr<CommunicatorState>> living() const {
    std::vector<std::shared_ptr<CommunicatorState>> all;
    const std::scoped_lock lock(mutex_);
    for (const auto& each : states_)
      if (auto state = each.lock()) all.push_back(std::move(state));
    return all;
  }

  mutable std::mutex mutex_{};
  std::vector<std::weak_ptr<CommunicatorState>> states_{};  ///< under mutex_
};

}  // namespace rondo::detail
