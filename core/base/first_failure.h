// FirstFailure: what goes on after a failure, and reports the first one at the end.
#pragma once

#include <exception>

namespace rondo {

/// Keeps the first failure of several pieces of work. Value type.
class FirstFailure {
 public:
  template <class Body>
  void watch(Body&& body) {
    try {
      body();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  /// Null: there is none.
  void keep(const std::exception_ptr& failure) {
    if (!first_) first_ = failure;
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_{};
};

}  // namespace rondo
