// Memory and what clients say about theirs.
#include <string>

#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"

namespace rondo::nccl {
namespace {

std::uintptr_t note(ncclComm_t comm, void* buffer, std::size_t bytes) {
  const auto member = member_of(comm);
  member->state();
  if (bytes > 0) require(buffer, "buff");
  const std::uintptr_t number = fresh_number();
  member->registrations()[number] = {buffer, bytes};
  return number;
}

Registration& find(Member& member, const void* handle) {
  const auto found = member.registrations().find(reinterpret_cast<std::uintptr_t>(handle));
  if (found != member.registrations().end()) return found->second;
  throw Error(ErrorCode::invalid_argument,
              "this communicator knows no registration with this handle (any more)",
              {.remedy = "pass what the registration returned, once, with the same communicator"});
}

void forget(ncclComm_t comm, const void* handle) {
  const auto member = member_of(comm);
  find(*member, handle);
  member->registrations().erase(reinterpret_cast<std::uintptr_t>(handle));
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
    *handle = reinterpret_cast<void*>(note(comm, buff, size));
  });
}

RONDO_NCCL_EXPORT(ncclCommDeregister);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guarded("ncclCommDeregister", [&] { forget(comm, handle); });
}

RONDO_NCCL_EXPORT(ncclCommWindowRegister);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags) {
  return guarded("ncclCommWindowRegister", [&] {
    require(win, "win");
    constexpr int known = NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING | NCCL_WIN_GIN_ONLY |
                          NCCL_WIN_CFT_COUNTED;
    if ((winFlags & ~known) != 0) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument,
                         "winFlags is " + std::to_string(winFlags),
                         {.remedy = "combine NCCL_WIN_ flags"});
    }
    *win = reinterpret_cast<ncclWindow_t>(note(comm, buff, size));
  });
}

RONDO_NCCL_EXPORT(ncclCommWindowDeregister);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return guarded("ncclCommWindowDeregister", [&] { forget(comm, win); });
}

RONDO_NCCL_EXPORT(ncclWinGetUserPtr);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  return guarded("ncclWinGetUserPtr", [&] {
    require(outUserPtr, "outUserPtr");
    *outUserPtr = find(*member_of(comm), win).pointer;
  });
}
