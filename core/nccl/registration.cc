// ncclMemAlloc, and registrations of buffers and windows.
#include <optional>
#include <string>

#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"
#include "core/nccl/one_sided.h"

namespace rondo::nccl {
namespace {

std::uintptr_t note(Member& member, const Registration& registration) {
  const std::uintptr_t number = fresh_number();
  member.registrations().add(number, registration);
  return number;
}

std::shared_ptr<Member> check_buffer(ncclComm_t comm, const void* buffer, std::size_t bytes) {
  auto member = member_of(comm);
  member->state();
  if (bytes > 0) require(buffer, "buff");
  return member;
}

void check_flags(int flags) {
  constexpr int known =
      NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING | NCCL_WIN_GIN_ONLY | NCCL_WIN_CFT_COUNTED;
  if ((flags & ~known) == 0) return;
  throw Error(ErrorCode::invalid_argument, "winFlags is " + std::to_string(flags),
              {.remedy = "combine NCCL_WIN_ flags"});
}

/// All ranks together: one-sided calls can be made on this window. Returns its number.
std::uint32_t add_block(Member& member, const Registration& registration) {
  auto calls = member.registrations().one_sided();
  if (calls == nullptr) {
    calls = detail::OneSided::open(member.share()->open_for_windows());
    member.registrations().set_one_sided(calls);
  }
  return calls->add_window(registration.pointer, registration.bytes);
}

/// Symmetric windows belong to all ranks together. Peers read them in calls between devices, or
/// one-sided calls are made on them. Others tell peers nothing about theirs, and are only noted.
ncclResult_t register_window(ncclComm_t comm, Registration registration, ncclWindow_t* window,
                             int flags) {
  const std::shared_ptr<Member> member =
      check_buffer(comm, registration.pointer, registration.bytes);
  *window = nullptr;
  const auto finish = [member, window](const Registration& noted) {
    *window = reinterpret_cast<ncclWindow_t>(note(*member, noted));
  };
  const bool on_host = has_one_sided_calls();
  if ((flags & NCCL_WIN_COLL_SYMMETRIC) == 0 || (!on_host && member->device_calls() == nullptr)) {
    finish(registration);
    return ncclSuccess;
  }
  const Maker maker = [member, registration, on_host, finish]() -> State {
    Registration noted = registration;
    if (on_host) {
      noted.block = add_block(*member, registration);
    } else {
      noted.window =
          member->device_calls()->register_window(registration.pointer, registration.bytes);
    }
    finish(noted);
    return nullptr;
  };
  return issue(Making{.maker = maker, .within = member});
}

std::uintptr_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

Registration known(const std::optional<Registration>& registration) {
  if (registration) return *registration;
  throw Error(ErrorCode::invalid_argument, "this communicator has no registration with this handle",
              {.remedy = "pass what the registration returned, once, with the same communicator"});
}

/// Windows that peers map come and go one at a time: none goes while the next one is in progress.
void forget(ncclComm_t comm, const void* handle) {
  const auto member = member_of(comm);
  Registrations& all = member->registrations();
  const Registration found = known(all.find(number_of(handle)));
  if (found.window != 0 || found.block) member->parent();
  const Registration gone = known(all.take(number_of(handle)));
  if (gone.window != 0) member->device_calls()->deregister_window(gone.window);
  if (gone.block) all.one_sided()->remove_window(*gone.block);
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclMemAlloc);
ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return guarded("ncclMemAlloc", [&] {
    require(ptr, "ptr");
    *ptr = allocate_memory(size);
  });
}

RONDO_NCCL_EXPORT(ncclMemFree);
ncclResult_t ncclMemFree(void* ptr) {
  return guarded("ncclMemFree", [&] { free_memory(ptr); });
}

RONDO_NCCL_EXPORT(ncclCommRegister);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return guarded("ncclCommRegister", [&] {
    require(handle, "handle");
    const auto member = check_buffer(comm, buff, size);
    *handle = reinterpret_cast<void*>(note(*member, {.pointer = buff, .bytes = size}));
  });
}

RONDO_NCCL_EXPORT(ncclCommDeregister);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guarded("ncclCommDeregister", [&] { forget(comm, handle); });
}

RONDO_NCCL_EXPORT(ncclCommWindowRegister);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags) {
  return guarded_in_group("ncclCommWindowRegister", [&] {
    require(win, "win");
    check_flags(winFlags);
    return register_window(comm, {.pointer = buff, .bytes = size}, win, winFlags);
  });
}

RONDO_NCCL_EXPORT(ncclCommWindowDeregister);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return guarded("ncclCommWindowDeregister", [&] {
    if (win == nullptr) {
      member_of(comm);
    } else {
      forget(comm, win);
    }
  });
}

RONDO_NCCL_EXPORT(ncclWinGetUserPtr);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  return guarded("ncclWinGetUserPtr", [&] {
    require(outUserPtr, "outUserPtr");
    *outUserPtr = known(member_of(comm)->registrations().find(number_of(win))).pointer;
  });
}
