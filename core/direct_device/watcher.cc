#include "core/direct_device/watcher.h"

#include <algorithm>
#include <atomic>

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/direct_device/disagreements.h"

namespace rondo::direct_device {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds shortest_nap{1};
constexpr milliseconds longest_nap{20};
/// How long the others have to hear of a failure on their own lines, with words for them, before
/// the whole communicator is aborted.
constexpr milliseconds before_abort{1000};
/// How long memory is kept for a peer of a failed communicator that may still read it.
constexpr milliseconds most_patience_with_readers{5000};

/// A fingerprint of the same call between devices, or by the host's memory.
std::uint64_t mark(std::uint64_t fingerprint, bool on_device) {
  return fingerprint << 1 | (on_device ? 1 : 0);
}

}  // namespace

milliseconds next_nap(milliseconds last, bool moved, bool frees) {
  return moved || frees ? shortest_nap : std::min(2 * last, longest_nap);
}

Watcher::Watcher(std::shared_ptr<detail::CommunicatorState> state,
                 std::shared_ptr<ControlChannel> line, std::unique_ptr<Area> area,
                 std::shared_ptr<resident::Executor> executor)
    : state_(std::move(state)),
      line_(std::move(line)),
      area_(std::move(area)),
      executor_(std::move(executor)),
      sends_(static_cast<std::size_t>(area_->ranks())),
      receives_(static_cast<std::size_t>(area_->ranks())) {}

void Watcher::start(std::shared_ptr<void> owner) {
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
    numbered.sequence = ++announced_;
    line_->calls().begin(numbered);
  }
  const SharedPage& page = area_->page();
  const std::uint64_t ours = fingerprint(numbered);
  const Announced mine{mark(ours, on_device), places};
  page.announce(area_->rank(), numbered.sequence, mine);
  for (int peer = 0; peer < area_->ranks(); ++peer) {
    const auto theirs = page.find(peer, numbered.sequence);
    if (!theirs || *theirs == mine) continue;
    if (theirs->fingerprint == mine.fingerprint) {
      fail(other_places(numbered, area_->rank(), peer, places, theirs->places));
    } else if (theirs->fingerprint == mark(ours, !on_device)) {
      fail(other_memory(numbered, area_->rank(), peer, on_device));
    } else {
      line_->report_mismatch(peer, numbered.sequence);
      const std::scoped_lock lock(mutex_);
      disputed_ = true;
      changed_.notify_one();
    }
    return 0;
  }
  return numbered.sequence;
}

bool Watcher::announce(const Call& message, int peer, bool sends, bool on_device) {
  const int rank = area_->rank();
  const MessageShape mine{message.count, message.type, on_device || message.count == 0};
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++(sends ? sends_ : receives_)[static_cast<std::size_t>(peer)];
  }
  const SharedPage& page = area_->page();
  page.announce_message(rank, peer, sends, number, mine);
  const auto theirs = page.find_message(peer, rank, !sends, number);
  if (!theirs || *theirs == mine) return true;
  fail(other_message(mine, *theirs, rank, peer, sends));
  return false;
}

std::uint64_t Watcher::next() const {
  const std::scoped_lock lock(mutex_);
  return expected_ + 1;
}

void Watcher::expect(Waiting waiting) {
  const std::scoped_lock lock(mutex_);
  ++expected_;
  waiting_.push_back(std::move(waiting));
  changed_.notify_one();
}

void Watcher::disorder() {
  const std::scoped_lock lock(mutex_);
  disordered_ = true;
}

bool Watcher::is_done_with() const {
  const std::scoped_lock lock(mutex_);
  return completed_ == expected_ && !disordered_;
}

void Watcher::abandon(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  abandoned_ = number;
  changed_.notify_one();
}

void Watcher::retain(bool reads_windows) {
  const std::scoped_lock lock(mutex_);
  ++graphs_;
  // release, pairs with the acquire of a rank that asks whether a graph may still read windows.
  if (reads_windows)
    std::atomic_ref(area_->page().captured(area_->rank())).fetch_add(1, std::memory_order_release);
  changed_.notify_one();
}

/// While graphs are counted, the area and the thread are there. As soon as the lock is gone the
/// thread may end, and this object with it.
void Watcher::forget(std::shared_ptr<Watcher> self, bool reads_windows) noexcept {
  Watcher& watcher = *self;
  const std::scoped_lock lock(watcher.mutex_);
  const Area& area = *watcher.area_;
  if (reads_windows)  // release: likewise
    std::atomic_ref(area.page().captured(area.rank())).fetch_sub(1, std::memory_order_release);
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
    if (failure_) return failure_;
  }
  if (line_->failed()) return line_->failure();
  return state_->failure();
}

void Watcher::rethrow_failure() {
  std::exception_ptr thrown;
  {
    const std::scoped_lock lock(mutex_);
    thrown = thrown_;
  }
  if (thrown) std::rethrow_exception(thrown);
  if (const auto failure = this->failure()) throw Error(*failure);
}

void Watcher::fail(const Error& error) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) thrown_ = std::current_exception();
    if (!failure_) failure_ = error;
    changed_.notify_one();
  }
  line_->fail(error);
}

void Watcher::leave() {
  const std::scoped_lock lock(mutex_);
  if (!failure_ && !line_->failed()) line_->leave();
}

void Watcher::retire() {
  leave();
  const std::scoped_lock lock(mutex_);
  retired_ = true;
  changed_.notify_one();
}

bool Watcher::is_over() const {
  return retired_ && graphs_ == 0 && (completed_ == expected_ || abandoned_ == expected_);
}

bool Watcher::is_idle() const {
  if (completed_ != expected_ || graphs_ > 0) return false;
  return spread_ || (!failure_ && !disputed_);
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

/// True where a call has ended since the last look.
bool Watcher::note_progress() {
  // acquire, after the stream's write: everything that the call did is done.
  const std::uint32_t newest =
      std::atomic_ref(area_->page().completed(area_->rank())).load(std::memory_order_acquire);
  const std::scoped_lock lock(mutex_);
  const std::uint64_t completed = expected_ - (static_cast<std::uint32_t>(expected_) - newest);
  if (completed <= completed_) return false;  // after a failure it may step back
  for (; completed_ != completed; ++completed_) {
    if (waiting_.front().sequence != 0) line_->calls().complete(waiting_.front().sequence);
    waiting_.pop_front();
  }
  return true;
}

/// Whether the stream is within a call. A call that it has not reached yet does not count as
/// silence.
bool Watcher::is_inside() const {
  const SharedPage& page = area_->page();
  const int rank = area_->rank();
  // relaxed, all of them: only what they stay at counts.
  return std::atomic_ref(page.inside_captured(rank)).load(std::memory_order_relaxed) != 0 ||
         std::atomic_ref(page.begun(rank)).load(std::memory_order_relaxed) !=
             std::atomic_ref(page.completed(rank)).load(std::memory_order_relaxed);
}

void Watcher::report_stall() {
  // relaxed: only how it stays for a second at least counts.
  const bool began = std::atomic_ref(area_->page().began_captured(area_->rank()))
                         .exchange(0, std::memory_order_relaxed) != 0;
  if (!is_inside() || began) return silence_.reset();
  state_->watchdog().tell(*line_);
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

/// What is in its stream now; none: a graph's call.
std::optional<Waiting> Watcher::newest_waiting() const {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front();
}

/// Asks the control plane what keeps a collective waiting, or a message with a peer.
void Watcher::report(bool expired) {
  const std::optional<Waiting> waiting = newest_waiting();
  const SharedPage& page = area_->page();
  // relaxed, all of them: as for report_stall().
  if (std::atomic_ref(page.inside_captured(area_->rank())).load(std::memory_order_relaxed) != 0)
    return line_->report_stall_on(-1, "a replayed graph's call between devices", expired);
  if (!waiting || waiting->sequence != 0) return line_->report_stall(expired);
  const std::uint32_t begun =
      std::atomic_ref(page.begun(area_->rank())).load(std::memory_order_relaxed);
  for (const Waiting::Part& part : waiting->messages) {
    const std::uint32_t passed = std::atomic_ref(page.passed(area_->rank(), part.peer, part.sends))
                                     .load(std::memory_order_relaxed);
    if (passed != begun) return line_->report_stall_on(part.peer, part.what, expired);
  }
}

/// Every flag that a stream of this rank may wait for, now or later, and every kernel's wait.
void Watcher::answer() const {
  if (executor_) executor_->abort();
  const SharedPage& page = area_->page();
  for (int number = 0; number < signal_kinds; ++number) {
    const auto kind = static_cast<Signal>(number);
    for (int place = 0; place < places_of(kind); ++place) {
      for (int peer = 0; peer < area_->ranks(); ++peer) {
        // relaxed: it brings no data.
        std::atomic_ref(page.signal(kind, place, peer, area_->rank()))
            .store(1, std::memory_order_relaxed);
      }
    }
  }
}

/// Logs what a kernel waited for when it was ended. Which rank failed is known already.
void Watcher::tell_wait() {
  if (executor_ == nullptr || told_wait_) return;
  const auto record = executor_->wait_record();
  if (!record) return;
  told_wait_ = true;
  log(LogLevel::info, area_->rank(), "when the communicator failed " + *record, LogSubsystem::coll);
}

/// The first failure stays this rank's. In the end nothing else of the communicator goes on either.
void Watcher::spread(const Error& failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  tell_wait();
  if (!line_->failed()) line_->fail(failure);
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
  spread_ = true;
}

/// This rank's memory is freed when the peers have let go of it, or are dead. After a failure,
/// memory that they only read is freed in the end all the same, but never memory that their kernels
/// may write.
void Watcher::give_memory_back(std::shared_ptr<void> owner) {
  try {
    const bool failed = failure().has_value();
    const bool is_written = executor_ != nullptr;
    const bool is_done = is_done_with();
    owner.reset();
    line_.reset();
    state_.reset();
    {
      const cuda::CurrentContext current(area_->context());
      if (is_done) area_->finish();
      if (!is_done && executor_ != nullptr) executor_->leave();
      executor_.reset();
      area_->close();
    }
    AwakeClock clock;  // time when this process stood still does not count
    const auto begin = clock.now();
    while (area_->is_read() && (!failed || clock.now() - begin < most_patience_with_readers))
      std::this_thread::sleep_for(longest_nap);
    if (is_written && area_->is_read()) area_->keep();
    const cuda::CurrentContext current(area_->context());
    area_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving device memory back: ") + error.what(),
        LogSubsystem::destroy);
    area_->abandon();
    area_.reset();
  }
}

}  // namespace rondo::direct_device
