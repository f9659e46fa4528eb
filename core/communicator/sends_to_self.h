// SendsToSelf: sends and receives between a rank and itself, which no transport carries.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "core/execute/operation.h"

namespace rondo::detail {

/// Under the progress lock.
class SendsToSelf {
 public:
  bool empty() const { return waiting_.empty(); }
  const Operation* oldest() const { return waiting_.empty() ? nullptr : waiting_.front().get(); }
  /// True where the other side was there: then both are complete. Else it waits for it. Throws
  /// Error{mismatch} where the sides differ; then the operation is done. `rank`: for the error.
  bool join(const std::shared_ptr<Operation>& operation, int rank);
  /// Takes back the one that join() was given last, and that waits.
  void withdraw();
  /// Ends each one that waits, with failure_of(it).
  template <class FailureOf>
  void end_all(FailureOf failure_of) {
    for (const auto& operation : waiting_) operation->finish(failure_of(*operation));
    waiting_.clear();
  }

 private:
  std::vector<std::shared_ptr<Operation>> waiting_{};
};

}  // namespace rondo::detail
