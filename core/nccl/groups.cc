#include "core/nccl/groups.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "core/base/first_failure.h"
#include "core/base/threads.h"
#include "core/nccl/handles.h"

namespace rondo::nccl {
namespace {

/// The C API knows groups by the thread that opened them, so their state is the thread's.
struct Group {
  int depth = 0;
  std::vector<Making> makings{};
  std::vector<Operation> operations{};
  std::vector<OneSidedCall> one_sided{};
  std::exception_ptr failure{};
};

Group& group() {
  thread_local Group group;
  return group;
}

/// One end less; the outermost one takes what the group holds.
Group close() {
  Group& mine = group();
  if (mine.depth == 0) {
    throw Error(ErrorCode::invalid_usage, "this thread is in no group",
                {.remedy = "call ncclGroupStart once for each ncclGroupEnd"});
  }
  if (--mine.depth > 0) return {.depth = mine.depth};
  return std::exchange(mine, Group{});
}

/// The handle of a communicator that was not made means nothing.
void withdraw(const Making& making) {
  if (making.member == nullptr) return;
  forget_handle(*making.out);
  *making.out = NCCL_COMM_NULL;
}

bool waits(const Making& making) {
  return making.member == nullptr || making.member->traits().blocking;
}

/// Makes it on this thread, or (see waits()) begins to in the background.
void make(const Making& making) {
  try {
    if (making.member == nullptr) {
      making.maker();
    } else if (!waits(making)) {
      making.member->make_in_background(making.maker);
    } else {
      making.member->make(making.maker);
    }
  } catch (...) {
    withdraw(making);
    throw;
  }
}

/// From here on work within the same communicator comes after it.
void take_turn(Making& making) {
  if (making.within != nullptr) making.maker = making.within->in_turn(std::move(making.maker));
}

/// Makes each on a thread of its own, as each waits for other ranks, some of which are among them.
/// Throws the first failure.
void make_all(std::vector<Making>& makings) {
  std::ranges::for_each(makings, take_turn);
  FirstFailure first;
  std::vector<const Making*> waiting;
  for (const Making& making : makings) {
    if (waits(making)) {
      waiting.push_back(&making);
    } else {
      first.watch([&] { make(making); });
    }
  }
  const auto failures = run_together(waiting.size(), [&](std::size_t i) { make(*waiting[i]); });
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!failures[i]) continue;
    withdraw(*waiting[i]);  // no thread may have begun with it
    first.keep(failures[i]);
  }
  first.rethrow();
}

/// Those that wait for peers, or the others. Notes the first failure. `begun`: as run()'s.
ncclResult_t run_one_sided(const std::vector<OneSidedCall>& calls, bool waiting, bool begun,
                           FirstFailure& first) {
  std::vector<std::vector<OneSidedCall>> by_member;
  for (const OneSidedCall& call : calls) {
    if (call.waits != waiting) continue;
    const auto is_its = [&](const auto& all) { return all.front().member == call.member; };
    const auto found = std::ranges::find_if(by_member, is_its);
    (found != by_member.end() ? *found : by_member.emplace_back()).push_back(call);
  }
  ncclResult_t result = ncclSuccess;
  for (const auto& all : by_member) {
    first.watch([&] {
      if (run(all, begun) == ncclInProgress) result = ncclInProgress;
    });
  }
  return result;
}

/// The calls of a group.
ncclResult_t run_all(Group& ended) {
  if (ended.one_sided.empty()) return run(ended.operations);
  FirstFailure first;
  ncclResult_t result = ncclSuccess;
  run_one_sided(ended.one_sided, false, false, first);
  const bool has_more = !ended.operations.empty();
  if (has_more) first.watch([&] { result = run(ended.operations); });
  const ncclResult_t waits = run_one_sided(ended.one_sided, true, has_more, first);
  first.rethrow();
  return waits == ncclInProgress ? waits : result;
}

}  // namespace

bool in_group() { return group().depth > 0; }

void start_group() { ++group().depth; }

void fail_group() noexcept {
  if (in_group() && !group().failure) group().failure = std::current_exception();
}

ncclResult_t issue(Operation operation) {
  if (!in_group()) return run(std::move(operation));
  check_arguments(operation);
  group().operations.push_back(std::move(operation));
  return ncclSuccess;
}

ncclResult_t issue(std::vector<Operation> operations) {
  for (Operation& operation : operations) check_arguments(operation);
  if (!in_group()) return run(operations);
  std::ranges::move(operations, std::back_inserter(group().operations));
  return ncclSuccess;
}

ncclResult_t issue(Making making) {
  if (in_group()) {
    group().makings.push_back(std::move(making));
    return ncclSuccess;
  }
  take_turn(making);
  if (making.member == nullptr && !making.within->traits().blocking) {
    making.within->work_in_background(std::move(making.maker));
    return ncclInProgress;
  }
  make(making);
  return waits(making) ? ncclSuccess : ncclInProgress;
}

ncclResult_t issue(OneSidedCall call) {
  if (!in_group()) return run({&call, 1});
  group().one_sided.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t end_group() {
  Group ended = close();
  if (ended.depth > 0) return ncclSuccess;
  if (ended.failure) {
    for (const Making& making : ended.makings) withdraw(making);
    std::rethrow_exception(ended.failure);
  }
  make_all(ended.makings);
  const bool in_background = !std::ranges::all_of(ended.makings, waits);
  const ncclResult_t result = run_all(ended);
  return in_background ? ncclInProgress : result;
}

std::vector<Operation> drop_group() {
  Group ended = close();
  for (const Making& making : ended.makings) withdraw(making);
  if (ended.failure) std::rethrow_exception(ended.failure);
  return std::move(ended.operations);
}

}  // namespace rondo::nccl
