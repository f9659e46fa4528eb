#include "tools/torch/source/backend.h"

#include <Python.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "tools/torch/source/work.h"

namespace rondo_torch {
namespace {

/// Runs `body` without Python's lock, if this thread holds it: the work that it waits for may need
/// it.
void without_python_lock(const std::function<void()>& body) {
  struct Unlocked {
    PyThreadState* const state = PyEval_SaveThread();
    ~Unlocked() { PyEval_RestoreThread(state); }
  };
  if (!Py_IsInitialized() || !PyGILState_Check()) return body();
  const Unlocked unlocked;
  body();
}

}  // namespace

Backend::Backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                 std::chrono::milliseconds timeout, const std::string& name)
    : Backend(meet(store, rank, size, timeout), timeout, name) {}

Backend::Backend(Meeting meeting, std::chrono::milliseconds timeout, const std::string& name)
    : c10d::Backend(meeting.communicator.rank(), meeting.communicator.size()),
      store_(std::move(meeting.store)),
      options_(c10::make_intrusive<Options>("rondo", timeout)),
      group_(std::make_shared<Group>()),
      completer_(std::in_place) {
  options_->group_name = name;
  group_->name = name;
  group_->timeout = timeout;
  group_->communicator = std::move(meeting.communicator);
}

Backend::~Backend() {
  without_python_lock([this] {
    try {
      group_->communicator.finalize();
    } catch (const std::exception&) {
      // Its calls have raised their errors before; or they differ from the other ranks' calls,
      // which raise errors there. Here nothing is left to do but leave.
    }
    completer_.reset();
  });
}

WorkHandle Backend::launch(Plan plan, std::chrono::milliseconds timeout, bool asynchronous) {
  if (coalesced_) {
    coalesced_->merge(std::move(plan));
    return {};  // endCoalescing() returns the work of all
  }
  if (timeout.count() <= 0) timeout = group_->timeout;
  completer_->queue()->forget();
  auto work = c10::make_intrusive<Work>(group_, std::move(plan), ++sequence_, timeout);
  if (asynchronous) {
    work->start(*completer_);
  } else if (timeout < group_->timeout) {
    work->start(*completer_);
    work->wait(timeout);
  } else {
    work->run();
  }
  return work;
}

void Backend::startCoalescing() {
  coalesced_.emplace(Plan{.kind = c10d::OpType::COALESCED, .name = "rondo:coalesced"});
}

WorkHandle Backend::endCoalescing() {
  if (!coalesced_)
    throw std::runtime_error(
        "rondo: endCoalescing without startCoalescing. Try: use "
        "torch.distributed's own coalescing manager");
  Plan plan = std::move(*coalesced_);
  coalesced_.reset();
  return launch(std::move(plan), c10d::kUnsetTimeout, true);
}

c10::intrusive_ptr<c10d::Backend> Backend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const std::vector<int>& ranks,
                                                 const c10::intrusive_ptr<Options>& options) {
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end()) return {};
  const auto timeout = options ? options->timeout : group_->timeout;
  const std::string name =
      options && !options->group_name.empty() ? options->group_name : group_->name + ", split";
  return c10::make_intrusive<Backend>(store, static_cast<int>(own - ranks.begin()),
                                      static_cast<int>(ranks.size()), timeout, name);
}

void Backend::throw_other_ranks_lost(const std::vector<int>& lost) const {
  std::string list;
  for (const int rank : lost) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  throw rondo::Error(rondo::ErrorCode::invalid_argument,
                     "a rank excludes others than those that are lost, which are [" + list + "]",
                     {.rank = rank_, .remedy = "shrink_group([" + list + "]) on every rank"});
}

c10::intrusive_ptr<c10d::Backend> Backend::shrink(const std::vector<std::int64_t>& excluded,
                                                  int flags,
                                                  const c10::intrusive_ptr<Options>& options) {
  constexpr int ends_calls = 1;  // torch's SHRINK_ABORT
  try {
    if ((flags & ends_calls) != 0) group_->communicator.revoke("by shrink_group()");
    rondo::Communicator fewer;
    without_python_lock([&] {
      const std::vector<int> lost = group_->communicator.agree().lost;
      const bool same = std::ranges::equal(lost, excluded);
      if (group_->communicator.agree(same ? 1 : 0).flags != 1) throw_other_ranks_lost(lost);
      fewer = group_->communicator.shrink();
    });
    const std::string name =
        options && !options->group_name.empty() ? options->group_name : group_->name + ", shrunk";
    return c10::make_intrusive<Backend>(
        Meeting{std::move(fewer), c10::make_intrusive<c10d::PrefixStore>(name, store_)},
        options ? options->timeout : group_->timeout, name);
  } catch (const rondo::Error& error) {
    rethrow(error, *group_);
  }
}

void Backend::abort() { group_->communicator.abort("by abort() of " + group_->name); }

void Backend::shutdown() {
  try {
    group_->communicator.finalize();
  } catch (const rondo::Error& error) {
    rethrow(error, *group_);
  }
}

}  // namespace rondo_torch
