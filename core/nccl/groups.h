// Groups: what a thread asks for between ncclGroupStart and ncclGroupEnd runs together at the end.
#pragma once

#include <memory>

#include "core/nccl/errors.h"
#include "core/nccl/one_sided.h"
#include "core/nccl/operations.h"

namespace rondo::nccl {

/// A communicator to make, or something else that ranks do together.
struct Making {
  std::shared_ptr<Member> member{};  ///< null: no communicator comes of it here, see `within`
  Maker maker{};
  ncclComm_t* out = nullptr;  ///< holds the member's handle until the making fails
  /// Whose ranks do it together: see Member::in_turn(). Null: those that it makes.
  std::shared_ptr<Member> within{};
};

/// Runs it, or leaves it to this thread's group. Throws what is wrong with it.
ncclResult_t issue(Operation operation);
/// All of them together.
ncclResult_t issue(std::vector<Operation> operations);
/// The same. A communicator that does not block is made in the background. Outside groups, so is
/// what its ranks do together. The result is then ncclInProgress.
ncclResult_t issue(Making making);

/// The same. At the end of a group, its puts and signals come first and its waits last.
ncclResult_t issue(OneSidedCall call);

/// Whether this thread is in a group.
bool in_group();
/// The exception being handled fails the group, if there is one.
void fail_group() noexcept;
void start_group();
/// The outermost end runs everything and throws the first failure. A failure that was thrown in the
/// group before is thrown again, and nothing is run. Throws Error{invalid_usage} outside a group.
ncclResult_t end_group();
/// The same, but runs nothing: returns what the outermost end would have run.
std::vector<Operation> drop_group();

/// guarded() for functions that a group puts off: their errors fail the group as well.
template <class Body>
ncclResult_t guarded_in_group(const char* function, Body&& body) noexcept {
  return guarded(function, [&] {
    try {
      return body();
    } catch (...) {
      fail_group();
      throw;
    }
  });
}

}  // namespace rondo::nccl
