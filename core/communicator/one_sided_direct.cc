// The part of one-sided calls that works in shared memory: signals, and who is at work on whose block.
#include "core/communicator/one_sided_direct.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/awake.h"

namespace rondo::detail {
namespace {

/// A peer that was killed or stopped in the middle of a copy never says that it has ended.
constexpr std::chrono::seconds longest_taking_away{5};
constexpr std::uint32_t counters_window = 0;

}  // namespace

void OneSided::add_counters() {
  add_window(counters_.get(), counters_bytes(state_->size()), counters_);
}

void* OneSided::counters_of(int peer) const {
  return blocks_.part_of(counters_window, peer, 0, 0).here;
}

void OneSided::check_signal(int signal) const {
  if (signal >= 0 && signal < static_cast<int>(signals)) return;
  throw Error(ErrorCode::invalid_argument, "signal " + std::to_string(signal) + " does not exist",
              {.rank = rank(), .remedy = "use numbers from 0 to " + std::to_string(signals - 1)});
}

std::atomic_ref<std::uint64_t> OneSided::counter(void* counters, int from, int signal) {
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "shared between processes");
  const std::size_t at =
      static_cast<std::size_t>(from) * counters_of_a_peer + static_cast<std::size_t>(signal);
  return std::atomic_ref(static_cast<std::uint64_t*>(counters)[at]);
}

/// Acquire pairs with the release of give_signal() and complete().
bool OneSided::take(int peer, int signal, std::size_t count) {
  std::uint64_t& taken =
      taken_[static_cast<std::size_t>(peer) * signals + static_cast<std::size_t>(signal)];
  if (own_counter(peer, signal).load(std::memory_order_acquire) - taken < count) return false;
  taken += count;
  return true;
}

void OneSided::signal(int peer, int signal) {
  check_peer(peer);
  check_signal(signal);
  const Progress::Lock lock(state_->progress());
  require_usable();
  if (counters_of(peer) != nullptr && !at(peer).unflushed) return give_signal(peer, signal);
  wait_for_room(peer, "signal");
  post(peer, {.signal = static_cast<std::int16_t>(signal), .kind = Kind::signal}, nullptr);
  state_->progress().look();
}

/// Release: the peer that loads the counter with acquire in take() sees the bytes that were put.
void OneSided::give_signal(int peer, int signal) {
  counter(counters_of(peer), rank(), signal).fetch_add(1, std::memory_order_release);
  if (peer != rank()) state_->connections().direct()->wake(peer);
}

void OneSided::wait_signal(int peer, int signal, std::size_t count) {
  check_peer(peer);
  check_signal(signal);
  const Signal wanted{peer, signal};
  const Progress::Lock lock(state_->progress());
  require_usable();
  await({"wait_signal", peer, {&wanted, 1}}, [&] { return !take(peer, signal, count); });
}

std::size_t OneSided::wait_any(std::span<const Signal> wanted) {
  if (wanted.empty())
    throw Error(ErrorCode::invalid_argument, "wait_any() has no signals to wait for",
                {.rank = rank(), .remedy = "name at least one"});
  for (const Signal& each : wanted) {
    check_peer(each.peer);
    check_signal(each.signal);
  }
  const Progress::Lock lock(state_->progress());
  require_usable();
  std::size_t which = 0;
  await({"wait_any", wanted.front().peer, wanted}, [&] {
    for (which = 0; which < wanted.size(); ++which)
      if (take(wanted[which].peer, wanted[which].signal, 1)) return false;
    return true;
  });
  return which;
}

bool OneSided::test_signal(int peer, int signal, std::size_t count) {
  check_peer(peer);
  check_signal(signal);
  const Progress::Lock lock(state_->progress());
  require_usable();
  if (take(peer, signal, count)) return true;
  state_->progress().look();
  require_usable();
  return take(peer, signal, count);
}

// Both sides store one word and then load the other one, sequentially consistent: so a rank that takes
// its blocks away sees the peer at work, or the peer sees that they have gone.
OneSided::DirectWork::DirectWork(OneSided& calls, int peer)
    : theirs_(peer == calls.rank() ? nullptr : calls.counters_of(peer)), rank_(calls.rank()) {
  if (theirs_ == nullptr) return;
  counter(theirs_, rank_, at_work).store(1, std::memory_order_seq_cst);
  if (counter(theirs_, peer, at_work).load(std::memory_order_seq_cst) == 0) return;
  end();
  const auto failure = calls.state_->failure();
  throw failure ? *failure
                : Error(ErrorCode::aborted, "the peer has ended this window",
                        {.rank = rank_, .peer = peer, .remedy = "make a new one"});
}

void OneSided::DirectWork::end() const {
  // Release: the owner that sees it in take_blocks_away() frees the block after the copy.
  if (theirs_ != nullptr) counter(theirs_, rank_, at_work).store(0, std::memory_order_release);
}

void OneSided::take_blocks_away() {
  own_counter(rank(), at_work).store(1, std::memory_order_seq_cst);
  AwakeClock clock;
  const auto end = clock.now() + longest_taking_away;
  for (int peer = 0; peer < state_->size(); ++peer) {
    if (peer == rank()) continue;
    while (own_counter(peer, at_work).load(std::memory_order_seq_cst) != 0 && clock.now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace rondo::detail
