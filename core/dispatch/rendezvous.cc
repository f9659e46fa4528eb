#include "core/dispatch/rendezvous.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/undying.h"
#include "core/dispatch/together.h"
#include "core/execute/backoff.h"

namespace rondo::dispatch {
namespace {

using Clock = std::chrono::steady_clock;

/// So short that it may be in vain each time, so long that it can grow again.
constexpr std::chrono::microseconds shortest_patience{60};
/// How often a thread that waits looks whether its communicator still works.
constexpr std::chrono::microseconds look_interval{2000};

/// Global, as ranks of a process find each other by nothing else; never destroyed: communicators
/// may end while the process exits.
struct Places {
  std::mutex mutex{};
  std::map<std::uint64_t, std::weak_ptr<Rendezvous>> by_identity{};  ///< under mutex
};

Places& places() {
  static Places& places = *undying<Places>();
  return places;
}

/// Unlike its id, no other thread ever gets it.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> newest{0};
  // relaxed: it orders nothing.
  thread_local const std::uint64_t number = newest.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

/// A copy of the failure that is being handled, so that no two threads throw the same object.
std::exception_ptr copy_of_failure() noexcept {
  try {
    throw;
  } catch (const cuda::CudaError& error) {
    return std::make_exception_ptr(error);
  } catch (const Error& error) {
    return std::make_exception_ptr(error);
  } catch (...) {
    return std::current_exception();  // no memory left
  }
}

}  // namespace

Rendezvous::Part::Part(World& brought) : world(brought) {
  for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
    if (world.ranks[rank] != nullptr) shares.push_back({rank, world.requests[rank].size()});
  }
}

Rendezvous::Rendezvous(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

std::shared_ptr<Rendezvous> Rendezvous::of(std::uint64_t identity, int ranks) {
  const std::scoped_lock lock(places().mutex);
  std::erase_if(places().by_identity, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Rendezvous>& place = places().by_identity[identity];
  std::shared_ptr<Rendezvous> found = place.lock();
  if (found == nullptr) place = found = std::make_shared<Rendezvous>(ranks);
  return found;
}

void Rendezvous::enter(int rank, cuda::Context context, std::chrono::microseconds patience) {
  const std::scoped_lock lock(mutex_);
  Rank& mine = ranks_[static_cast<std::size_t>(rank)];
  mine.context = context;
  mine.here = true;
  longest_patience_ = std::max(longest_patience_, patience);
  patience_ = longest_patience_;
  open_.store(std::ranges::all_of(ranks_, &Rank::here) && some_share_a_context(),
              std::memory_order_relaxed);
}

void Rendezvous::leave(int rank) {
  const std::scoped_lock lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].here = false;
  open_.store(false, std::memory_order_relaxed);
  release_passed();
}

/// Ranks that each have a context of their own share no queue.
bool Rendezvous::some_share_a_context() const {
  std::vector<cuda::Context> contexts;
  for (const Rank& rank : ranks_) contexts.push_back(rank.context);
  std::ranges::sort(contexts);
  return std::ranges::adjacent_find(contexts) != contexts.end();
}

/// Whether all others may still bring the same round, and do so without this thread.
bool Rendezvous::may_meet(const Part& part) const {
  const std::uint64_t round = ranks_[part.shares.front().rank].made;
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    const Rank& rank = ranks_[at];
    const bool own = std::ranges::count(part.shares, at, &Share::rank) != 0;
    if (own ? rank.made != round : rank.made > round) return false;
    if (!own && rank.part == nullptr && rank.thread == number_of_this_thread()) return false;
  }
  return true;
}

bool Rendezvous::all_wait() const {
  return std::ranges::none_of(ranks_, [](const Rank& each) { return each.part == nullptr; });
}

bool Rendezvous::bring(World& world) {
  Part part(world);
  std::vector<Part*> parts(ranks_.size());  // now, as nothing may throw once others see the part
  {
    std::unique_lock lock(mutex_);
    for (const Share& share : part.shares) ranks_[share.rank].thread = number_of_this_thread();
    if (!is_open() || !may_meet(part)) {
      end(part, Outcome::apart);
      release_passed();
      return false;
    }
    for (const Share& share : part.shares) ranks_[share.rank].part = &part;
    if (all_wait()) return run(lock, part, std::move(parts));
  }
  return wait(part);
}

void Rendezvous::pass(int rank, std::size_t collectives) {
  const std::scoped_lock lock(mutex_);
  Rank& mine = ranks_[static_cast<std::size_t>(rank)];
  mine.thread = number_of_this_thread();
  mine.made += collectives;
  release_passed();
}

/// `last`: this thread's part. `parts`: room for all. All ranks' threads are here, and stay,
/// because their parts are `running`.
bool Rendezvous::run(std::unique_lock<std::mutex>& lock, const Part& last,
                     std::vector<Part*> parts) {
  std::ranges::transform(ranks_, parts.begin(), &Rank::part);
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  // relaxed: a thread that leaves a part that is not over does so under mutex_.
  for (Part* const part : parts) part->outcome.store(Outcome::running, std::memory_order_relaxed);
  lock.unlock();
  World world;
  bool done = false;
  bool failed = false;
  try {
    // The others' writes can be seen: each took mutex_ after them.
    for (Part* const part : parts) world.add(std::move(part->world));
    done = put(world);
  } catch (...) {
    failed = true;
    for (Part* const part : parts) part->failure = copy_of_failure();
  }
  lock.lock();
  if (!done && !failed && is_closed(world)) open_.store(false, std::memory_order_relaxed);
  patience_ = std::min(patience_ * 2, longest_patience_);
  for (Part* const part : parts) end(*part, done ? Outcome::together : Outcome::apart);
  if (last.failure) std::rethrow_exception(last.failure);
  return done;
}

bool Rendezvous::is_over(const Part& part) {
  // acquire: see Part::outcome.
  const Outcome outcome = part.outcome.load(std::memory_order_acquire);
  return outcome == Outcome::together || outcome == Outcome::apart;
}

bool Rendezvous::wait(Part& part) {
  const State state = part.world.ranks[part.shares.front().rank]->state();
  detail::Backoff backoff(std::thread::hardware_concurrency() < ranks_.size());
  const Clock::time_point begin = Clock::now();
  while (!is_over(part)) {
    if (!backoff.pause()) continue;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::min(patience_, look_interval), [&] { return is_over(part); }))
      break;
    // relaxed: written under mutex_.
    if (part.outcome.load(std::memory_order_relaxed) == Outcome::running) continue;
    const bool in_vain = Clock::now() - begin >= patience_;
    if (!in_vain && !state->failure()) continue;  // which the thread learns from its call
    if (in_vain) patience_ = std::max(patience_ / 2, shortest_patience);
    end(part, Outcome::apart);
    release_passed();
  }
  // No other thread uses it from here on.
  if (part.failure) std::rethrow_exception(part.failure);
  return part.outcome.load(std::memory_order_relaxed) == Outcome::together;
}

/// Called with mutex_ held.
void Rendezvous::end(Part& part, Outcome outcome) {
  for (const Share& share : part.shares) {
    ranks_[share.rank].part = nullptr;
    ranks_[share.rank].made += share.collectives;
  }
  changed_.notify_all();
  // release: see Part::outcome. Its thread may be gone with it from here on.
  part.outcome.store(outcome, std::memory_order_release);
}

/// Ends the waits for a rank that has passed their round, or is gone. Called with mutex_ held.
void Rendezvous::release_passed() {
  const auto waits_in_vain = [&](const Rank& rank) {
    return rank.part != nullptr && std::ranges::any_of(ranks_, [&](const Rank& each) {
             return !each.here || each.made > rank.made;
           });
  };
  for (auto found = ranks_.begin();
       (found = std::ranges::find_if(ranks_, waits_in_vain)) != ranks_.end();)
    end(*found->part, Outcome::apart);
}

}  // namespace rondo::dispatch
