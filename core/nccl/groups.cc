#include "core/nccl/groups.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/nccl/handles.h"

namespace rondo::nccl {
namespace {

/// The C API knows groups by the thread that opened them, so their state is the thread's.
struct Group {
  int depth = 0;
  std::vector<Making> makings{};
  std::vector<Operation> operations{};
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

void make(const Making& making) {
  try {
    if (making.member == nullptr) {
      making.maker();
    } else {
      making.member->make(making.maker);
    }
  } catch (...) {
    withdraw(making);
    throw;
  }
}

/// Each on a thread of its own, as each waits for other ranks, some of which are among them.
std::exception_ptr make_all(const std::vector<Making>& makings) {
  std::vector<std::exception_ptr> failures(makings.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < makings.size(); ++i) {
    if (!waits(makings[i])) {
      makings[i].member->make_in_background(makings[i].maker);
      continue;
    }
    threads.emplace_back([&, i] {
      try {
        make(makings[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) return failure;
  }
  return nullptr;
}

}  // namespace

bool in_group() { return group().depth > 0; }

void start_group() { ++group().depth; }

void fail_group() noexcept {
  if (in_group() && !group().failure) group().failure = std::current_exception();
}

ncclResult_t issue(Operation operation) {
  if (!in_group()) return run(operation);
  check_arguments(operation);
  group().operations.push_back(std::move(operation));
  return ncclSuccess;
}

ncclResult_t issue(Making making) {
  if (in_group()) {
    group().makings.push_back(std::move(making));
    return ncclSuccess;
  }
  if (waits(making)) {
    make(making);
    return ncclSuccess;
  }
  making.member->make_in_background(std::move(making.maker));
  return ncclInProgress;
}

ncclResult_t end_group() {
  const Group ended = close();
  if (ended.depth > 0) return ncclSuccess;
  if (ended.failure) {
    for (const Making& making : ended.makings) withdraw(making);
    std::rethrow_exception(ended.failure);
  }
  if (const auto failure = make_all(ended.makings)) std::rethrow_exception(failure);
  const bool in_background = !std::ranges::all_of(ended.makings, waits);
  const ncclResult_t result = run(ended.operations);
  return in_background ? ncclInProgress : result;
}

std::vector<Operation> drop_group() {
  Group ended = close();
  for (const Making& making : ended.makings) withdraw(making);
  if (ended.failure) std::rethrow_exception(ended.failure);
  return std::move(ended.operations);
}

}  // namespace rondo::nccl
