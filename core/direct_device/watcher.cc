#include "core/direct_device/watcher.h"

#include <algorithm>
#include <atomic>

#include "core/base/log.h"

namespace rondo::direct_device {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds shortest_nap{1};
constexpr milliseconds longest_nap{20};
/// What the others get to hear of a failure on their own lines, with words for them, before the
/// whole communicator is aborted.
constexpr milliseconds before_abort{1000};
/// How long memory is kept for a peer of a failed communicator that may still read it.
constexpr milliseconds most_patience_with_readers{5000};

/// A fingerprint of the same call between devices, or by the host's memory.
std::uint64_t mark(std::uint64_t fingerprint, bool on_device) {
  return fingerprint << 1 | (on_device ? 1 : 0);
}

std::string shape_text(const MessageShape& shape) {
  return std::to_string(shape.count) + " x " + std::string(name(shape.type)) +
         (shape.on_device ? "" : " in host memory");
}

Error other_message(const MessageShape& mine, const MessageShape& theirs, int rank, int peer,
                    bool sends) {
  const std::string to = " rank " + std::to_string(peer);
  return Error(ErrorCode::mismatch,
               sends ? "this rank sends " + shape_text(mine) + " to" + to + ", which receives " +
                           shape_text(theirs)
                     : "this rank receives " + shape_text(mine) + " from" + to + ", which sends " +
                           shape_text(theirs),
               {.rank = rank,
                .peer = peer,
                .call = sends ? "send" : "recv",
                .remedy = "make both sides use the same count and type, and one kind of memory (or "
                          "RONDO_P2P_DISABLE=1)"});
}

Error other_memory(const Call& call, int rank, int peer, bool on_device) {
  return Error(ErrorCode::mismatch,
               std::string("this rank's buffers are ") + (on_device ? "" : "not ") +
                   "on a device, and those of rank " + std::to_string(peer) + " are" +
                   (on_device ? " not" : ""),
               {.rank = rank,
                .peer = peer,
                .call = to_string(call),
                .remedy = "use one kind of memory on all ranks, or RONDO_P2P_DISABLE=1"});
}

}  // namespace

Watcher::Watcher(std::shared_ptr<detail::CommunicatorState> state,
                 std::shared_ptr<ControlLine> line, std::unique_ptr<Area> area)
    : state_(std::move(state)),
      line_(std::move(line)),
      area_(std::move(area)),
      sends_(static_cast<std::size_t>(area_->ranks())),
      receives_(static_cast<std::size_t>(area_->ranks())),
      patience_(false, false, state_->config().timeout) {
  line_->set_timeout(state_->config().timeout);
}

void Watcher::start(std::shared_ptr<void> owner) {
  // Detached: it ends by itself after retire(), which graphs and peers may put off.
  std::thread([self = shared_from_this(), owner = std::move(owner)]() mutable {
    self->work();
    self->give_memory_back(std::move(owner));
  }).detach();
}

std::uint64_t Watcher::announce(const Call& call, bool on_device) {
  Call numbered = call;
  {
    const std::scoped_lock lock(mutex_);
    numbered.sequence = ++announced_;
    line_->calls().begin(numbered);
  }
  const SharedPage& page = area_->page();
  const std::uint64_t ours = fingerprint(numbered);
  page.announce(area_->rank(), numbered.sequence, mark(ours, on_device));
  for (int peer = 0; peer < area_->ranks(); ++peer) {
    const auto theirs = page.find(peer, numbered.sequence);
    if (!theirs || *theirs == mark(ours, on_device)) continue;
    if (*theirs == mark(ours, !on_device)) {
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

void Watcher::abandon(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  abandoned_ = number;
  changed_.notify_one();
}

void Watcher::retain() {
  const std::scoped_lock lock(mutex_);
  ++graphs_;
  changed_.notify_one();
}

void Watcher::forget() noexcept {
  const std::scoped_lock lock(mutex_);
  --graphs_;
  changed_.notify_one();
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

void Watcher::retire() {
  const std::scoped_lock lock(mutex_);
  retired_ = true;
  changed_.notify_one();
  if (!failure_ && !line_->failed()) line_->leave();
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
      patience_.reset();
    } else {
      changed_.wait_for(lock, nap_);
    }
    lock.unlock();
    look();
    lock.lock();
  }
}

void Watcher::look() {
  const bool moved = note_progress();
  nap_ = moved ? shortest_nap : std::min(2 * nap_, longest_nap);
  bool retired = false;
  {
    const std::scoped_lock lock(mutex_);
    retired = retired_;
  }
  const auto failure = this->failure();
  // Of a graph that outlives its communicator nobody else takes part.
  if (failure || retired) answer();
  if (failure) return spread(*failure);
  if (moved) patience_.reset();
  report_stall();
}

/// True where a call has ended since the last look.
bool Watcher::note_progress() {
  // acquire: behind the stream's write everything the call did is done.
  const std::uint32_t newest =
      std::atomic_ref(area_->page().completed(area_->rank())).load(std::memory_order_acquire);
  const std::scoped_lock lock(mutex_);
  const std::uint64_t completed = expected_ - (static_cast<std::uint32_t>(expected_) - newest);
  if (completed <= completed_) return false;  // behind a failure it may step back
  for (; completed_ != completed; ++completed_) {
    if (waiting_.front().sequence != 0) line_->calls().complete(waiting_.front().sequence);
    waiting_.pop_front();
  }
  return true;
}

/// A call that its stream has not reached yet is nobody's silence.
void Watcher::report_stall() {
  const SharedPage& page = area_->page();
  const int rank = area_->rank();
  // relaxed: only whether they differ counts, and for a second at least.
  const bool inside = std::atomic_ref(page.begun(rank)).load(std::memory_order_relaxed) !=
                      std::atomic_ref(page.completed(rank)).load(std::memory_order_relaxed);
  if (!inside) return patience_.reset();
  switch (patience_.judge()) {
    case detail::Patience::Verdict::wait:
      return;
    case detail::Patience::Verdict::report:
      return report(false);
    case detail::Patience::Verdict::expired:
      return report(true);
    case detail::Patience::Verdict::lost:
      return fail(Error(ErrorCode::timeout,
                        "nothing moved for longer than RONDO_TIMEOUT and the control plane does "
                        "not answer",
                        {.rank = rank,
                         .remedy = "look for a stopped or swapped-out rank; raise RONDO_TIMEOUT "
                                   "if it is only slow"}));
  }
}

/// What is in its stream now. None: a graph's, which is not told of.
std::optional<Waiting> Watcher::newest_waiting() const {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front();
}

/// Asks the control plane what keeps a collective waiting, or a message with a peer.
void Watcher::report(bool expired) {
  const std::optional<Waiting> waiting = newest_waiting();
  if (!waiting || waiting->sequence != 0) return line_->report_stall(expired);
  const SharedPage& page = area_->page();
  const std::uint32_t begun =
      std::atomic_ref(page.begun(area_->rank())).load(std::memory_order_relaxed);
  for (const Waiting::Part& part : waiting->messages) {
    // relaxed: as for report_stall().
    const std::uint32_t passed = std::atomic_ref(page.passed(area_->rank(), part.peer, part.sends))
                                     .load(std::memory_order_relaxed);
    if (passed != begun) return line_->report_stall_on(part.peer, part.what, expired);
  }
}

/// Every flag that a stream of this rank may wait for, now or later.
void Watcher::answer() const {
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

/// The first failure stays ours; in the end nothing else of the communicator goes on either.
void Watcher::spread(const Error& failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  if (!line_->failed()) line_->fail(failure);
  if (!failed_at_) failed_at_ = Clock::now();
  if (!state_->failure() && Clock::now() - *failed_at_ > before_abort)
    state_->abort(failure.what());
  if (!state_->failure()) {
    nap_ = shortest_nap;
    return;
  }
  const std::scoped_lock lock(mutex_);
  spread_ = true;
}

/// Own memory is freed when the peers have let go of it, or are dead.
void Watcher::give_memory_back(std::shared_ptr<void> owner) {
  try {
    const bool failed = failure().has_value();
    owner.reset();
    line_.reset();
    state_.reset();
    {
      const cuda::CurrentContext current(area_->context());
      area_->close();
    }
    const auto begin = Clock::now();
    while (area_->is_read() && (!failed || Clock::now() - begin < most_patience_with_readers))
      std::this_thread::sleep_for(longest_nap);
    const cuda::CurrentContext current(area_->context());
    area_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving device memory back: ") + error.what());
  }
}

}  // namespace rondo::direct_device
