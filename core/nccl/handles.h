// The communicator handles that programs hold. A handle is a number, never an address. So a handle
// that was destroyed, or never was one, is recognised without reading memory that may belong to
// something else.
#pragma once

#include <memory>

#include "core/nccl/member.h"

namespace rondo::nccl {

/// Thread-safe, all of it.
ncclComm_t add_handle(std::shared_ptr<Member> member);
/// Throws Error{invalid_argument} for null, for what is no handle, and after destruction.
std::shared_ptr<Member> member_of(ncclComm_t handle);
/// The same; the handle is none from here on.
std::shared_ptr<Member> take_handle(ncclComm_t handle);
/// Forgets a handle that may be none any more.
void forget_handle(ncclComm_t handle);

/// A number that no other handle of this process has had, for what hangs on a communicator.
std::uintptr_t fresh_number();

}  // namespace rondo::nccl
