#include <exception>
#include <vector>

#include "core/base/first_failure.h"
#include "core/communicator/access.h"

namespace rondo {
namespace detail {
namespace {

/// A group belongs to the thread that opened it, so its state does too.
struct ThreadGroup {
  int depth = 0;
  std::vector<Work> works{};
  std::unique_ptr<GroupPart> part{};
};

ThreadGroup& thread_group() {
  thread_local ThreadGroup group;
  return group;
}

/// Work on several communicators must go on while this thread waits for one of them. Work on all of
/// them must go on while the part waits for room in streams.
void keep_all_moving(const ThreadGroup& group) {
  for (const Work& work : group.works) {
    const auto& state = CommunicatorAccess::state(work);
    if (group.part != nullptr || state != CommunicatorAccess::state(group.works.front()))
      state->progress().try_to_carry_on();  // else they are waited for in turn
  }
}

/// Ends work that is not complete by aborting its communicator. The peers are notified.
void abandon(ThreadGroup& group) {
  group.part.reset();
  for (Work& work : group.works) {
    try {
      if (work.test()) continue;
      CommunicatorAccess::state(work)->abort("an exception left a rondo::Group");
      work.wait();
    } catch (const Error&) {
      // The work has ended, which is all that is asked for here.
    }
  }
  group.works.clear();
}

}  // namespace

bool in_group() { return thread_group().depth > 0; }

void add_to_group(Work work) { thread_group().works.push_back(std::move(work)); }

std::unique_ptr<GroupPart>& part_of_group() { return thread_group().part; }

}  // namespace detail

Group::Group() : exceptions_(std::uncaught_exceptions()) { ++detail::thread_group().depth; }

Group::~Group() noexcept(false) {
  if (!open_) return;
  if (std::uncaught_exceptions() == exceptions_) {
    wait();
    return;
  }
  // An exception is on its way, and takes the buffers of the calls made so far with it: nothing may
  // write to them any more.
  open_ = false;
  if (--detail::thread_group().depth == 0) detail::abandon(detail::thread_group());
}

void Group::wait() {
  if (!open_) return;
  open_ = false;
  detail::ThreadGroup& group = detail::thread_group();
  if (--group.depth > 0) return;
  FirstFailure first;
  detail::keep_all_moving(group);
  if (const auto part = std::exchange(group.part, nullptr)) first.watch([&] { part->run(); });
  for (Work& work : group.works) first.watch([&] { work.wait(); });
  group.works.clear();  // its memory serves the next group
  first.rethrow();
}

}  // namespace rondo
