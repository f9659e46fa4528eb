// Queue: what came first goes first. No memory is taken or given back once it is as long as it gets.
#pragma once

#include <cstddef>
#include <vector>

namespace rondo::detail {

/// For small T. All calls take constant time, pop() on average.
template <class T>
class Queue {
 public:
  bool empty() const { return first_ == items_.size(); }
  T front() const { return items_[first_]; }
  void push(T item) { items_.push_back(item); }
  void pop() {
    if (++first_ * 2 < items_.size()) return;
    // At least half of them are gone: moving the others costs no more than they did.
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_{};
  std::size_t first_ = 0;
};

}  // namespace rondo::detail
