// ncclMemAlloc, and registrations of buffers and windows.
#include <algorithm>
#include <optional>
#include <string>

#include "core/cuda/driver.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"

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
    calls = detail::OneSided::open(member.share()->open_part(0, nullptr));
    member.registrations().set_one_sided(calls);
  }
  return calls->add_window(registration.pointer, registration.bytes);
}

/// All ranks together, where none has calls between devices: why windows in host memory have no
/// one-sided calls; empty: they have. The words are the same on every rank.
std::string obstacle_to_host_windows(const Member& member) {
  const auto said = member.share()->exchange(cuda::find_driver() != nullptr ? "driver" : "");
  const auto first = [&](const char* what) {
    return "rank " + std::to_string(std::ranges::find(said, what) - said.begin());
  };
  const bool all = std::ranges::find(said, "") == said.end();
  if (!all && std::ranges::find(said, "driver") == said.end()) return {};
  return first("driver") + " has a GPU driver, " +
         (all ? "and GPU buffers go through the host's memory" : "and " + first("") + " has none");
}

/// Symmetric windows belong to all ranks together. Peers read and write them between devices, or
/// one-sided calls are made on them in host memory. Others tell peers nothing about theirs, and are
/// only noted.
ncclResult_t register_window(ncclComm_t comm, Registration registration, ncclWindow_t* window,
                             int flags) {
  const std::shared_ptr<Member> member =
      check_buffer(comm, registration.pointer, registration.bytes);
  *window = nullptr;
  const auto finish = [member, window](const Registration& noted) {
    *window = reinterpret_cast<ncclWindow_t>(note(*member, noted));
  };
  registration.symmetric = (flags & NCCL_WIN_COLL_SYMMETRIC) != 0;
  if (!registration.symmetric) {
    finish(registration);
    return ncclSuccess;
  }
  const Maker maker = [member, registration, finish]() -> State {
    Registration noted = registration;
    if (auto* const between_devices = member->device_calls()) {
      noted.window = between_devices->register_window(registration.pointer, registration.bytes);
    } else if (const std::string why = obstacle_to_host_windows(*member); why.empty()) {
      noted.block = add_block(*member, registration);
    } else {
      member->registrations().set_obstacle(why);
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
