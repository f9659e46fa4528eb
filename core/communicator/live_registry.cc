#include "core/communicator/live_registry.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/exit.h"
#include "core/base/undying.h"

namespace rondo::detail {
namespace {

/// Time for work under way to end, and for sent data to reach the kernel or shared memory. It is
/// more than the diagnosis of a failure takes.
constexpr std::chrono::milliseconds longest_leaving{4000};
/// Time for the goodbyes. It is more than control::times::linger, for a process that serves.
constexpr std::chrono::milliseconds longest_departing{5000};

void end_all(bool in_order);

/// In a child by fork() a communicator stays as it is: its end would wait for threads that are not
/// there, and change memory that the parent shares with its peers.
struct End {
  void operator()(CommunicatorState* state) const {
    std::unique_ptr<CommunicatorState> owner(state);
    if (!owner->is_own()) static_cast<void>(owner.release());
  }
};

/// Never destroyed: it is needed while the process ends.
struct Living {
  std::mutex mutex{};
  pid_t process = 0;                                       ///< whose they are; under mutex
  std::vector<std::weak_ptr<CommunicatorState>> states{};  ///< under mutex
};

Living& living() {
  static Living& living = *undying<Living>();
  return living;
}

std::vector<std::shared_ptr<CommunicatorState>> still_living() {
  std::vector<std::shared_ptr<CommunicatorState>> states;
  Living& all = living();
  const std::scoped_lock lock(all.mutex);
  for (const auto& each : all.states) {
    if (auto state = each.lock()) states.push_back(std::move(state));
  }
  return states;
}

void end_all(bool in_order) {
  std::vector<std::shared_ptr<CommunicatorState>> left = still_living();
  std::vector<std::shared_ptr<CommunicatorState>> traced;
  std::erase_if(left, [&](const std::shared_ptr<CommunicatorState>& state) {
    const bool stays = !in_order || !state->leaves_with_process();
    if (stays && state->is_traced()) traced.push_back(state);
    return stays;
  });
  if (!traced.empty())
    run_for(longest_leaving, traced.size(), [traced](std::size_t i) { traced[i]->keep_trace(); });
  if (left.empty()) return;
  std::vector<std::shared_ptr<Control>> worlds;
  for (const auto& state : left) {
    if (std::ranges::find(worlds, state->world()) == worlds.end()) worlds.push_back(state->world());
  }
  // A thread that is in a call keeps its communicator for as long as it likes: that one is not
  // left, and fails as its rank departs.
  run_for(longest_leaving, left.size(), [left](std::size_t i) { left[i]->leave_at_exit(); });
  run_for(longest_departing, worlds.size(), [worlds](std::size_t i) { worlds[i]->depart(); });
}

}  // namespace

std::shared_ptr<CommunicatorState> make_state(Membership membership, const Config& config) {
  const std::shared_ptr<ControlChannel> control =
      membership.world->open(membership.number, membership.members);
  std::unique_ptr<CommunicatorState> made;
  try {
    made = std::make_unique<CommunicatorState>(std::move(membership), config, control);
  } catch (const Error& error) {
    control->fail(error);  // the others must not wait for a rank that gave up
    throw;
  } catch (const std::exception& error) {  // no memory, say
    control->fail(Error(ErrorCode::system, error.what()));
    throw;
  }
  const std::shared_ptr<CommunicatorState> state(made.release(), End());
  Living& all = living();
  const std::scoped_lock lock(all.mutex);
  if (std::exchange(all.process, ::getpid()) != ::getpid()) {
    all.states.clear();  // they belong to the process that forked this one
    at_process_exit(end_all);
  }
  std::erase_if(all.states, [](const auto& each) { return each.expired(); });
  all.states.push_back(state);
  return state;
}

}  // namespace rondo::detail
