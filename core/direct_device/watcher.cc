#include "core/direct_device/watcher.h"

#include <atomic>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/direct_device/disagreements.h"

namespace rondo::direct_device {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// How long the others have to hear of a failure on their own lines, with words for them, before
/// the whole communicator is aborted.
constexpr milliseconds before_abort{1000};

/// A fingerprint of the same call between devices, or by the host's memory.
std::uint64_t mark(std::uint64_t fingerprint, bool on_device) {
  return fingerprint << 1 | (on_device ? 1 : 0);
}

}  // namespace

Watcher::Watcher(std::shared_ptr<detail::CommunicatorState> state,
                 std::shared_ptr<ControlChannel> control, std::unique_ptr<StagingHeap> heap,
                 std::shared_ptr<resident::Executor> executor)
    : state_(std::move(state)),
      control_(std::move(control)),
      heap_(std::move(heap)),
      executor_(std::move(executor)) {
  announced_.sends.resize(static_cast<std::size_t>(heap_->ranks()));
  announced_.receives.resize(static_cast<std::size_t>(heap_->ranks()));
}

void Watcher::start(std::shared_ptr<void> owner) {
  if (owner != nullptr) {
    const cuda::CurrentContext current(heap_->context());
    watch_.emplace(heap_->shared_context());
  }
  // Detached: it ends by itself after retire(), which graphs and peers may put off.
  start_thread([self = shared_from_this(), owner = std::move(owner)]() mutable {
    self->work();
    self->give_memory_back(std::move(owner));
  }).detach();
}

void Watcher::end_unused() {
  retire();
  try {
    start(nullptr);
  } catch (const Error&) {
    work();
    give_memory_back(nullptr);
  }
}

std::uint64_t Watcher::announce(const Call& call, bool on_device, const WindowPlaces& places) {
  Call numbered = call;
  {
    const std::scoped_lock lock(mutex_);
    numbered.sequence = ++announced_.collectives;
    control_->calls().begin(numbered);
  }
  const FlagSegment& flags = heap_->flags();
  const std::uint64_t ours = fingerprint(numbered);
  const Announced mine{mark(ours, on_device), places};
  flags.announce(heap_->rank(), numbered.sequence, mine);
  for (int peer = 0; peer < heap_->ranks(); ++peer) {
    const auto theirs = flags.find(peer, numbered.sequence);
    if (!theirs || *theirs == mine) continue;
    if (theirs->fingerprint == mine.fingerprint) {
      fail(other_places(numbered, heap_->rank(), peer, places, theirs->places));
    } else if (theirs->fingerprint == mark(ours, !on_device)) {
      fail(other_memory(numbered, heap_->rank(), peer, on_device));
    } else {
      control_->report_mismatch(peer, numbered.sequence);
      const std::scoped_lock lock(mutex_);
      failing_.disputed = true;
      changed_.notify_one();
    }
    return 0;
  }
  return numbered.sequence;
}

bool Watcher::announce(const Call& message, int peer, bool sends, bool on_device) {
  const int rank = heap_->rank();
  const MessageShape mine{message.count, message.type, on_device || message.count == 0};
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++(sends ? announced_.sends : announced_.receives)[static_cast<std::size_t>(peer)];
  }
  const FlagSegment& flags = heap_->flags();
  flags.announce_message(rank, peer, sends, number, mine);
  const auto theirs = flags.find_message(peer, rank, !sends, number);
  if (!theirs || *theirs == mine) return true;
  fail(other_message(mine, *theirs, rank, peer, sends));
  return false;
}

std::uint64_t Watcher::next() const {
  const std::scoped_lock lock(mutex_);
  return enqueued_.next();
}

void Watcher::expect(Waiting waiting) {
  const std::scoped_lock lock(mutex_);
  enqueued_.add(std::move(waiting));
  changed_.notify_one();
}

void Watcher::disorder() {
  const std::scoped_lock lock(mutex_);
  enqueued_.disorder();
}

bool Watcher::is_done_with() const {
  const std::scoped_lock lock(mutex_);
  return enqueued_.is_out_of_streams();
}

void Watcher::abandon(std::optional<std::uint64_t> number) {
  const std::scoped_lock lock(mutex_);
  enqueued_.abandon(number);
  changed_.notify_one();
}

void Watcher::retain(bool uses_windows) {
  const std::scoped_lock lock(mutex_);
  ++graphs_;
  // release, pairs with the acquire of a rank that asks whether a graph may still read windows.
  if (uses_windows)
    std::atomic_ref(heap_->flags().captured(heap_->rank())).fetch_add(1, std::memory_order_release);
  changed_.notify_one();
}

/// While graphs are counted, the heap and the thread are there. As soon as the lock is gone the
/// thread may end, and this object with it.
void Watcher::forget(std::shared_ptr<Watcher> self, bool uses_windows) noexcept {
  Watcher& watcher = *self;
  const std::scoped_lock lock(watcher.mutex_);
  const StagingHeap& heap = *watcher.heap_;
  if (uses_windows)  // release: likewise
    std::atomic_ref(heap.flags().captured(heap.rank())).fetch_sub(1, std::memory_order_release);
  --watcher.graphs_;
  watcher.forgotten_ = std::move(self);
  watcher.changed_.notify_one();
}

bool Watcher::is_kept() const {
  const std::scoped_lock lock(mutex_);
  return graphs_ > 0;
}

std::optional<Error> Watcher::failure() const {
  {
    const std::scoped_lock lock(mutex_);
    if (failing_.error) return failing_.error;
  }
  if (control_->failed()) return control_->failure();
  return state_->failure();
}

void Watcher::rethrow_failure() {
  const auto failure = this->failure();
  if (!failure) return;
  std::exception_ptr thrown;
  {
    const std::scoped_lock lock(mutex_);
    thrown = failing_.thrown;  // looked at last: it is set together with the failure, or never
  }
  if (thrown) std::rethrow_exception(thrown);
  throw Error(*failure);
}

void Watcher::fail(const Error& error) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failing_.error) failing_.thrown = std::current_exception();
    if (!failing_.error) failing_.error = error;
    changed_.notify_one();
  }
  control_->fail(error);
}

void Watcher::leave() {
  const std::scoped_lock lock(mutex_);
  if (!failing_.error && !control_->failed()) control_->leave();
}

void Watcher::retire() {
  leave();
  const std::scoped_lock lock(mutex_);
  retired_ = true;
  changed_.notify_one();
}

bool Watcher::is_over() const { return retired_ && graphs_ == 0 && enqueued_.is_over(); }

bool Watcher::is_idle() const {
  if (!enqueued_.is_complete() || graphs_ > 0) return false;
  return failing_.spread || (!failing_.error && !failing_.disputed);
}

void Watcher::work() {
  std::unique_lock lock(mutex_);
  while (!is_over()) {
    if (is_idle() && !retired_) {
      changed_.wait(lock);
      nap_ = shortest_nap;
      silence_.reset();
    } else {
      changed_.wait_for(lock, nap_);
    }
    lock.unlock();
    look();
    lock.lock();
  }
  forgotten_.reset();  // the caller has another one
}

void Watcher::look() {
  const bool moved = note_progress();
  if (!moved) look_for_loss();
  bool retired = false;
  {
    const std::scoped_lock lock(mutex_);
    retired = retired_;
  }
  const auto failure = this->failure();
  // In a graph that outlives its communicator, no other rank takes part.
  const bool answers = failure || retired;
  if (answers) answer();
  nap_ = next_nap(nap_, moved, answers && is_inside());
  if (failure) return spread(*failure);
  if (moved) silence_.reset();
  report_stall();
}

/// A context that was destroyed, or whose kernel crashed, does nothing more of what is in its streams.
void Watcher::look_for_loss() {
  const int status = watch_ && !lost_ ? watch_->look() : cuda::success;
  if (status == cuda::success) return;
  lost_ = true;
  abandon(std::nullopt);
  try {
    throw stream::Watch::loss(status, heap_->rank());
  } catch (const Error& error) {
    fail(error);
  }
}

/// True where a call has ended since the last look.
bool Watcher::note_progress() {
  // acquire, after the stream's write or its kernel's (mark_end()): everything that the call did is done.
  const std::uint32_t newest =
      std::atomic_ref(heap_->flags().completed(heap_->rank())).load(std::memory_order_acquire);
  const std::scoped_lock lock(mutex_);
  return enqueued_.complete(newest, [&](const Waiting& ended) {
    if (ended.sequence != 0) control_->calls().complete(ended.sequence);
  });
}

/// Whether the stream is within a call. A call that it has not reached yet does not count as
/// silence.
bool Watcher::is_inside() const {
  const FlagSegment& flags = heap_->flags();
  const int rank = heap_->rank();
  // relaxed, all of them: only what they stay at counts.
  return std::atomic_ref(flags.inside_captured(rank)).load(std::memory_order_relaxed) != 0 ||
         std::atomic_ref(flags.begun(rank)).load(std::memory_order_relaxed) !=
             std::atomic_ref(flags.completed(rank)).load(std::memory_order_relaxed);
}

void Watcher::report_stall() {
  // relaxed: only how it stays for a second at least counts.
  const bool began = std::atomic_ref(heap_->flags().began_captured(heap_->rank()))
                         .exchange(0, std::memory_order_relaxed) != 0;
  if (!is_inside() || began) return silence_.reset();
  state_->watchdog().tell(*control_);
  switch (silence_.assess(state_->watchdog().timeout())) {
    case detail::Silence::Verdict::wait:
      return;
    case detail::Silence::Verdict::report:
      return report(false);
    case detail::Silence::Verdict::expired:
      return report(true);
    case detail::Silence::Verdict::lost:
      return fail(state_->watchdog().unexplained_silence());
  }
}

/// Asks the control plane what keeps a collective waiting, or a message with a peer.
void Watcher::report(bool expired) {
  if (const auto failure = state_->watchdog().failure_of_whole(expired)) return fail(*failure);
  const std::optional<Waiting> waiting = [&] {
    const std::scoped_lock lock(mutex_);
    return enqueued_.oldest();
  }();
  const FlagSegment& flags = heap_->flags();
  // relaxed, all of them: as for report_stall().
  if (std::atomic_ref(flags.inside_captured(heap_->rank())).load(std::memory_order_relaxed) != 0)
    return control_->report_stall_on(-1, "a replayed graph's call between devices", expired);
  if (!waiting || waiting->sequence != 0) return control_->report_stall(expired);
  const std::uint32_t begun =
      std::atomic_ref(flags.begun(heap_->rank())).load(std::memory_order_relaxed);
  for (const Waiting::Part& part : waiting->messages) {
    const std::uint32_t passed = std::atomic_ref(flags.passed(heap_->rank(), part.peer, part.sends))
                                     .load(std::memory_order_relaxed);
    if (passed != begun) return control_->report_stall_on(part.peer, part.what, expired);
  }
}

/// Every flag that a stream of this rank may wait for, now or later, and every kernel's wait.
void Watcher::answer() const {
  if (executor_) executor_->abort();
  const FlagSegment& flags = heap_->flags();
  for (int number = 0; number < signal_kinds; ++number) {
    const auto kind = static_cast<Signal>(number);
    for (int place = 0; place < places_of(kind); ++place) {
      for (int peer = 0; peer < heap_->ranks(); ++peer) {
        // relaxed: it brings no data.
        std::atomic_ref(flags.signal(kind, place, peer, heap_->rank()))
            .store(1, std::memory_order_relaxed);
      }
    }
  }
  const std::scoped_lock lock(mutex_);
  for (const Waiting& waiting : enqueued_.waiting()) {
    for (const Waiting::Count& count : waiting.counts)
      std::atomic_ref(flags.counter(count.peer, heap_->rank(), count.signal))
          .store(count.reached, std::memory_order_relaxed);
  }
}

/// Logs what a kernel waited for when it was ended. Which rank failed is known already.
void Watcher::tell_wait() {
  if (executor_ == nullptr || told_wait_) return;
  const auto record = executor_->wait_record();
  if (!record) return;
  told_wait_ = true;
  log(LogLevel::info, heap_->rank(), "when the communicator failed " + *record, LogSubsystem::coll);
}

/// The first failure stays this rank's. In the end nothing else of the communicator goes on either.
void Watcher::spread(const Error& failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failing_.error) failing_.error = failure;
  }
  tell_wait();
  if (!control_->failed()) control_->fail(failure);
  if (!failed_at_) failed_at_ = Clock::now();
  if (!state_->failure() && Clock::now() - *failed_at_ > before_abort) {
    if (failure.code() == ErrorCode::mismatch) {
      state_->end_with(failure);  // the others' calls differ, whatever path they take
    } else {
      state_->abort(failure.what());
    }
  }
  if (!state_->failure()) {
    nap_ = shortest_nap;
    return;
  }
  const std::scoped_lock lock(mutex_);
  failing_.spread = true;
}

/// This rank's memory is freed as StagingHeap::wait_for_peers() says.
void Watcher::give_memory_back(std::shared_ptr<void> owner) {
  try {
    const bool failed = failure().has_value();
    const bool is_written = executor_ != nullptr;
    const bool is_done = is_done_with();
    owner.reset();
    control_.reset();
    state_.reset();
    {
      const cuda::CurrentContext current(heap_->context());
      if (is_done) heap_->finish();
      if (!is_done && executor_ != nullptr) executor_->leave();
      executor_.reset();
      heap_->close();
    }
    heap_->wait_for_peers(failed, is_written);
    const cuda::CurrentContext current(heap_->context());
    watch_.reset();
    heap_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving device memory back: ") + error.what(),
        LogSubsystem::destroy);
    heap_->abandon();
    heap_.reset();
  }
}

}  // namespace rondo::direct_device
