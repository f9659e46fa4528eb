// Calls that must run in their stream's order: those with buffers on a device, and those in a
// stream that is being captured into a graph. Other calls run on the host at once, after their
// stream is done.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "core/nccl/operations.h"

namespace rondo::nccl {

/// Keeps the first failure of several calls.
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

bool is_captured(cudaStream_t stream);
bool needs_stream_order(const Operation& operation);
stream::Request request_of(const Operation& operation);

/// For a call on the host. Returns when what was put into its stream (where it moves any data), and
/// all calls of its communicator in streams, are complete. Without the driver: at once. Throws
/// cuda::CudaError.
void wait_for_stream(const Operation& operation);

/// Puts the operations of a group that need it into their streams, and with each of them all others
/// of the same communicator, and those of `members`. Returns the rest. Returns at once, unless it
/// must wait for room in queues.
std::vector<const Operation*> put_into_streams(std::span<const Operation> operations,
                                               std::span<const Member* const> members,
                                               FirstFailure& failure);

}  // namespace rondo::nccl
