#include "core/direct_device/device_calls.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/log.h"
#include "core/direct_device/resident_call.h"

namespace rondo::direct_device {
namespace {

using cuda::check;
using cuda::driver;

/// What a captured call holds on to.
struct Kept {
  std::shared_ptr<Watcher> watcher;
  bool reads_windows;
};

/// Gives back, in its context, what was made for nothing.
void let_go(std::shared_ptr<resident::Executor> executor, cuda::Context context) {
  if (executor == nullptr) return;
  const cuda::CurrentContext current(context);
  executor.reset();
}

void forgotten(void* data) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(data));
  Watcher::forget(std::move(kept->watcher), kept->reads_windows);
}

}  // namespace

DeviceCalls::DeviceCalls(std::shared_ptr<Watcher> watcher)
    : watcher_(std::move(watcher)),
      context_(watcher_->heap().context()),
      windows_(watcher_->heap()),
      message_state_(watcher_->heap().ranks()) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_ = std::make_shared<stream::Order>();
  message_state_.scratch = cuda::make_event();
}

std::shared_ptr<DeviceCalls> DeviceCalls::make(
    const std::shared_ptr<detail::CommunicatorState>& state, const cuda::SharedContext& context) {
  std::shared_ptr<ControlChannel> line;
  std::shared_ptr<resident::Executor> executor;
  const auto more = [&] {
    executor = resident::Executor::make(state, context.get());
    return executor != nullptr ? resident::Executor::bytes(state->size()) : std::size_t{0};
  };
  const auto use = [&](const StagingHeap& heap) {
    if (executor != nullptr) executor->connect(heap.more());
  };
  std::unique_ptr<StagingHeap> heap;
  try {
    heap = StagingHeap::make(state, context, line, more, use);
  } catch (...) {
    let_go(std::move(executor), context.get());
    throw;
  }
  if (heap == nullptr) {
    let_go(std::move(executor), context.get());
    return nullptr;
  }
  return begin_with(std::make_shared<Watcher>(state, line, std::move(heap), std::move(executor)));
}

std::shared_ptr<DeviceCalls> DeviceCalls::begin_with(const std::shared_ptr<Watcher>& watcher) {
  try {
    std::shared_ptr<DeviceCalls> made(new DeviceCalls(watcher));
    watcher->start(made);
    return made;
  } catch (const Error& error) {
    watcher->fail(error);
    watcher->end_unused();
    throw;
  } catch (const std::exception& error) {
    watcher->fail(Error(ErrorCode::internal, error.what()));
    watcher->end_unused();
    throw;
  }
}

/// Called by the last owner to let go, usually the watcher's thread.
DeviceCalls::~DeviceCalls() {
  try {
    finish();
    const cuda::RelaxedCapture relaxed;
    const cuda::CurrentContext current(context_);
    message_state_.streams.clear();
    message_state_.scratch.reset();
    windows_.close();
    order_.reset();
    others_.clear();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving events back: ") + error.what(),
        LogSubsystem::destroy);
    // What the context had is gone with it: it must not be touched any more.
    for (cuda::OwnedStream& stream : message_state_.streams) (void)stream.release();
    (void)message_state_.scratch.release();
    windows_.abandon();
    order_->abandon();
    for (const auto& other : others_) other->abandon();
  }
}

bool DeviceCalls::serves(const stream::Request& request) const {
  const Call& call = request.call;
  if (call.collective == Collective::send_recv)
    return call.count == 0 ||
           (request.sends ? request.where.input : request.where.output).on_device;
  if (call.collective == Collective::barrier || call.count == 0) return false;
  const StagingHeap& heap = watcher_->heap();
  if (info(call.collective).reduces && !heap.reduces()) return false;
  const auto has = [&](Buffer buffer) {
    return bytes_of(request, buffer, heap.rank(), heap.ranks()) > 0;
  };
  if (has(Buffer::input) && !request.where.input.on_device) return false;
  return !has(Buffer::output) || request.where.output.on_device;
}

void DeviceCalls::pass_over(const stream::Request& request) {
  rethrow_failure();
  if (watcher_->announce(request.call, false) == 0) rethrow_failure();
}

void DeviceCalls::check_context(const stream::Request& request) const {
  cuda::Context context = nullptr;
  check(driver().stream_get_ctx(request.stream, &context), "cuStreamGetCtx");
  if (context == context_) return;
  throw Error(ErrorCode::invalid_usage,
              "this stream is of another CUDA context than the communicator",
              {.rank = watcher_->heap().rank(),
               .call = to_string(request.call),
               .remedy = "use a communicator for one device, and make that device current"});
}

/// What the graph replays must exist as long as it does.
void DeviceCalls::keep_with(cuda::Graph graph) {
  auto kept = std::make_unique<Kept>(watcher_, running_ && running_->reads_windows());
  watcher_->retain(kept->reads_windows);
  cuda::keep_with(graph, kept.release(), forgotten);
}

template <class Body>
void DeviceCalls::guarded(Body body) {
  try {
    body();
  } catch (const Error& error) {
    give_up(error);
    throw;
  } catch (const std::exception& error) {  // no memory is left, say
    give_up(Error(ErrorCode::internal, error.what()));
    throw;
  }
}

void DeviceCalls::begin(const stream::Request& request) {
  rethrow_failure();
  forget_reading();
  const cuda::CurrentContext current(context_);
  check_context(request);
  capture_ = cuda::capture_of(request.stream);
  stream_ = request.stream;
  const StagingHeap& heap = watcher_->heap();
  const resident::Executor* const executor = watcher_->executor();
  const bool waits = executor != nullptr && executor->serves(request.call);
  const WindowPlaces places =
      waits ? WindowPlaces{} : places_of(request, windows_, heap.rank(), heap.ranks());
  const std::uint64_t sequence = watcher_->announce(request.call, true, places);
  if (sequence == 0) return rethrow_failure();
  number_ = 0;
  guarded([&] {
    const std::uint64_t number = capture_ ? 0 : watcher_->next();
    if (waits) {
      resident_ = request;
    } else {
      running_.emplace(heap, request, find_buffers(places, number), turn_, number,
                       collective_entries_);
      turn_ = running_->next_turn();
    }
    note_in_trace({&request, 1});
    enter({.sequence = sequence}, number);
  });
}

/// `number`: as Running's. From here on the owners of the buffers wait for this rank: see
/// withdraw().
Buffers DeviceCalls::find_buffers(const WindowPlaces& places, std::uint64_t number) const {
  if (places == WindowPlaces{}) return {};
  const StagingHeap& heap = watcher_->heap();
  const FlagSegment& flags = heap.flags();
  const std::atomic_ref reading(flags.reading(heap.rank()));
  const std::uint32_t before = reading.load(std::memory_order_relaxed);  // written by this thread
  // seq_cst, as withdraw(): each stores one and loads the other, so one of them sees both.
  if (number != 0) reading.store(FlagSegment::reading_number(number), std::memory_order_seq_cst);
  for (int peer = 0; peer < heap.ranks(); ++peer) {
    if (std::atomic_ref(flags.withdrawn(peer)).load(std::memory_order_seq_cst) == 0) continue;
    reading.store(before, std::memory_order_seq_cst);
    throw Error(ErrorCode::aborted, "a peer has ended this communicator",
                {.rank = heap.rank(), .peer = peer, .remedy = "make a new one"});
  }
  return {windows_.addresses(places.input), windows_.addresses(places.output)};
}

/// For the call that is about to be put into `stream_`.
void DeviceCalls::enter(Waiting waiting, std::uint64_t number) {
  if (capture_) {
    keep_with(capture_->graph);
  } else {
    watcher_->expect(std::move(waiting));
    number_ = number;
  }
  order_->follow(stream_, capture_);
  for (const auto& other : others_) other->follow(stream_, capture_);
  traced_.begin(stream_);
}

/// "4 x float32"
std::string shape_of(const Call& message) {
  return std::to_string(message.count) + " x " + std::string(name(message.type));
}

/// Messages of one direction with one peer count as one.
Waiting waiting_for(const std::vector<stream::Request>& messages, int rank) {
  Waiting waiting;
  for (const stream::Request& request : messages) {
    const auto same = [&](const Waiting::Part& part) {
      return part.peer == request.peer && part.sends == request.sends;
    };
    if (request.peer == rank || std::ranges::any_of(waiting.messages, same)) continue;
    waiting.messages.push_back(
        {request.peer, request.sends,
         (request.sends ? "send of " : "recv of ") + shape_of(request.call)});
  }
  return waiting;
}

void check_own(const Call& sent, const Call& received, int rank) {
  if (sent.count == received.count && sent.type == received.type) return;
  throw Error(
      ErrorCode::mismatch,
      "this rank sends " + shape_of(sent) + " to itself and receives " + shape_of(received),
      {.rank = rank, .peer = rank, .remedy = "make both sides use the same count and type"});
}

/// Throws where the two sides of a message are known to differ, or where a message to the rank
/// itself has only one side.
void DeviceCalls::announce(const std::vector<stream::Request>& messages,
                           const std::vector<bool>& served) {
  const int rank = watcher_->heap().rank();
  std::vector<const stream::Request*> sends;
  std::vector<const stream::Request*> receives;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].peer == rank && served[i])
      (messages[i].sends ? sends : receives).push_back(&messages[i]);
  }
  if (sends.size() != receives.size()) {
    throw Error(ErrorCode::invalid_usage,
                "a send or recv of this rank with itself waits for ever: its other side is missing",
                {.rank = rank, .peer = rank, .remedy = "put both into one group"});
  }
  for (std::size_t i = 0; i < sends.size(); ++i) check_own(sends[i]->call, receives[i]->call, rank);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const stream::Request& message = messages[i];
    if (!watcher_->announce(message.call, message.peer, message.sends, served[i]))
      rethrow_failure();
  }
}

/// All messages are numbered in the order of their calls, as the peers number them, whatever path
/// they take.
void DeviceCalls::begin(std::vector<stream::Request> group, const std::vector<bool>& served) {
  rethrow_failure();
  forget_reading();
  const cuda::CurrentContext current(context_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (served[i]) check_context(group[i]);
  }
  announce(group, served);
  number_ = 0;
  guarded([&] {
    std::vector<stream::Request> messages;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (served[i] && group[i].call.count > 0) messages.push_back(std::move(group[i]));
    }
    if (messages.empty()) return;
    stream_ = messages.front().stream;
    capture_ = cuda::capture_of(stream_);
    const std::uint64_t number = capture_ ? 0 : watcher_->next();
    Waiting waiting = waiting_for(messages, watcher_->heap().rank());
    note_in_trace(messages);
    const cuda::RelaxedCapture relaxed;  // it may need streams
    messages_.emplace(watcher_->heap(), std::move(messages), message_state_, number);
    enter(std::move(waiting), number);
  });
}

bool DeviceCalls::advance() {
  if (!running_ && !messages_ && !resident_) return false;
  const cuda::CurrentContext current(context_);
  bool more = false;
  guarded([&] {
    if (number_ != 0) wait_for_room();
    if (resident_) {
      put_resident(watcher_->heap(), *watcher_->executor(), *resident_, number_);
    } else {
      more = running_ ? running_->advance() : messages_->advance();
    }
    if (more) return;
    traced_.end(stream_);
    order_->record(stream_, capture_);
  });
  if (more) return true;
  note_entries();
  running_.reset();
  messages_.reset();
  resident_.reset();
  return false;
}

/// What is in the stream comes to its end, as the watcher answers for everybody from here on.
void DeviceCalls::give_up(const Error& error) noexcept {
  watcher_->fail(error);
  const FlagSegment& flags = watcher_->heap().flags();
  const std::uint32_t& completed = flags.completed(watcher_->heap().rank());
  std::optional<Messages> messages;
  if (messages_) messages.emplace(std::move(*messages_));
  running_.reset();
  messages_.reset();
  resident_.reset();
  if (number_ == 0) return;  // nothing is in a stream; or the graph is not whole, so it never runs
  watcher_->disorder();      // what follows may come before earlier calls in other streams
  try {
    if (messages) messages->gather();
    check(driver().stream_write_value(stream_, flags.device_address(completed),
                                      static_cast<unsigned>(number_), cuda::write_value_default),
          "cuStreamWriteValue32");
    order_->record(stream_, std::nullopt);
  } catch (const std::exception&) {
    watcher_->abandon(number_);
  }
}

void DeviceCalls::finish() {
  if (!order_->used()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_->finish();
}

/// What they read lies in this rank's memory, which a process must not take away by ending.
void DeviceCalls::wait_for_readers() {
  const StagingHeap& heap = watcher_->heap();
  const auto begin = std::chrono::steady_clock::now();
  const auto wait = [&](Signal kind, int place, int peer) {
    // acquire: the reader has read.
    const std::atomic_ref read(heap.flags().signal(kind, place, peer, heap.rank()));
    while (read.load(std::memory_order_acquire) == 0 && !watcher_->has_failed()) {
      if (std::chrono::steady_clock::now() - begin > watcher_->state().watchdog().timeout()) {
        throw Error(ErrorCode::timeout,
                    "what this rank has shown or sent was not read before the timeout",
                    {.rank = heap.rank(),
                     .peer = peer,
                     .remedy = "make the peer take part in every call and receive every message"});
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  };
  for (int peer = 0; peer < heap.ranks(); ++peer) {
    if (peer == heap.rank()) continue;
    for (int half = 0; half < halves; ++half) wait(Signal::free, half, peer);
    for (int slot = 0; slot < slots; ++slot) wait(Signal::taken, slot, peer);
  }
  if (watcher_->has_failed()) withdraw();
}

}  // namespace rondo::direct_device
