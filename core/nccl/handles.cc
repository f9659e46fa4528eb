#include "core/nccl/handles.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/base/undying.h"

namespace rondo::nccl {
namespace {

/// The upper 16 bits of every handle ("rn"): no address of a user's, so following one faults.
constexpr std::uintptr_t mark = std::uintptr_t{0x726e} << 48;

/// Global, as the C API passes bare pointers. It is never destroyed: ranks may still be in calls on
/// threads of their own while a process exits.
struct Table {
  std::mutex mutex{};
  std::uintptr_t numbers = 0;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Member>> members{};
};

Table& table() {
  static Table& table = *undying<Table>();
  return table;
}

std::uintptr_t number_of(ncclComm_t handle) { return reinterpret_cast<std::uintptr_t>(handle); }

[[noreturn]] void reject(ncclComm_t handle) {
  const std::uintptr_t number = number_of(handle);
  if (number == 0) {
    throw Error(ErrorCode::invalid_argument, "the communicator is null",
                {.remedy = "pass what ncclCommInitRank made"});
  }
  if ((number & ~std::uintptr_t{0} << 48) != mark) {
    throw Error(ErrorCode::invalid_argument, "this is not a communicator of rondo",
                {.remedy = "pass what ncclCommInitRank of this library made"});
  }
  throw Error(ErrorCode::invalid_argument,
              "this communicator does not exist (any more): it was destroyed or aborted, or its "
              "making failed",
              {.remedy = "make another one with ncclCommInitRank; destroy or abort each only once, "
                         "after its last call"});
}

/// It is in the table no more. Null: it was not.
std::shared_ptr<Member> extract(ncclComm_t handle) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  auto found = all.members.extract(number_of(handle));
  return found.empty() ? nullptr : std::move(found.mapped());
}

}  // namespace

std::uintptr_t fresh_number() {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  return mark | (++all.numbers << 4);
}

ncclComm_t add_handle(std::shared_ptr<Member> member) {
  const std::uintptr_t number = fresh_number();
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  all.members.emplace(number, std::move(member));
  return reinterpret_cast<ncclComm_t>(number);
}

std::shared_ptr<Member> member_of(ncclComm_t handle) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.members.find(number_of(handle));
  if (found == all.members.end()) reject(handle);
  return found->second;
}

std::shared_ptr<Member> take_handle(ncclComm_t handle) {
  std::shared_ptr<Member> member = extract(handle);
  if (member == nullptr) reject(handle);
  return member;
}

void forget_handle(ncclComm_t handle) { extract(handle); }

}  // namespace rondo::nccl
