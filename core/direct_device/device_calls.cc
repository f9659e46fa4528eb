#include "core/direct_device/device_calls.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/log.h"
#include "core/stream/buffers.h"
#include "core/stream/own_messages.h"
#include "core/stream/wait.h"

namespace rondo::direct_device {
namespace {

/// What a captured call holds on to.
struct Kept {
  std::shared_ptr<Watcher> watcher;
  bool uses_windows;
};

/// Gives back, in its context, what was made for nothing.
void let_go(std::shared_ptr<resident::Executor> executor, cuda::Context context) {
  if (executor == nullptr) return;
  const cuda::CurrentContext current(context);
  executor.reset();
}

void forgotten(void* data) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(data));
  Watcher::forget(std::move(kept->watcher), kept->uses_windows);
}

}  // namespace

DeviceCalls::DeviceCalls(std::shared_ptr<Watcher> watcher)
    : watcher_(std::move(watcher)),
      context_(watcher_->heap().context()),
      planner_(watcher_->heap().rank(), watcher_->heap().ranks(), StagingHeap::half_bytes),
      windows_(watcher_->heap()),
      counts_(watcher_->heap().ranks()) {
  const cuda::CurrentContext current(context_);
  orders_.emplace(context_);
  message_state_.emplace(watcher_->heap().ranks());
}

std::shared_ptr<DeviceCalls> DeviceCalls::make(
    const std::shared_ptr<detail::CommunicatorState>& state, const cuda::SharedContext& context) {
  std::shared_ptr<ControlChannel> line;
  std::shared_ptr<resident::Executor> executor;
  const auto more = [&] {
    executor = resident::Executor::make(state, context.get());
    return executor != nullptr ? executor->bytes() : std::size_t{0};
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
  } catch (const std::exception& error) {
    watcher->fail(as_error(error));
    watcher->end_unused();
    throw;
  }
}

/// Called by the last owner to let go, usually the watcher's thread.
DeviceCalls::~DeviceCalls() {
  try {
    finish();
    const cuda::CurrentContext current(context_);
    message_state_->sides.close();
    message_state_->scratch.reset();
    windows_.close();
    orders_->close();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving events back: ") + error.what(),
        LogSubsystem::destroy);
    // What the context had is gone with it: it must not be touched any more.
    message_state_->sides.abandon();
    (void)message_state_->scratch.release();
    windows_.abandon();
    orders_->abandon();
  }
}

bool DeviceCalls::serves(const stream::Request& request) const {
  return can_serve(request) && follows(request);
}

bool DeviceCalls::leaves_for_name(const stream::Request& request) const {
  return can_serve(request) && !follows(request);
}

bool DeviceCalls::can_serve(const stream::Request& request) const {
  const Call& call = request.call;
  if (call.collective == Collective::send_recv)
    return call.count == 0 ||
           (request.sends ? request.where.input : request.where.output).on_device;
  if (call.collective == Collective::barrier || call.count == 0) return false;
  const StagingHeap& heap = watcher_->heap();
  if (info(call.collective).reduces && !heap.reduces()) return false;
  return stream::is_on_devices(request, heap.rank(), heap.ranks());
}

/// Whether what is done here is what the user names, if anything.
bool DeviceCalls::follows(const stream::Request& request) const {
  if (is_message(request) || allows_default(request)) return true;
  resident::Executor* const executor = watcher_->executor();
  return executor != nullptr && executor->serves(request.call);
}

bool DeviceCalls::allows_default(const stream::Request& request) const {
  const detail::CommunicatorState& state = watcher_->state();
  return resident::allows_default(request.call, request.counts, state.topology(),
                                  state.algorithms());
}

void DeviceCalls::pass_over(const stream::Request& request) {
  rethrow_failure();
  if (watcher_->announce(request.call, false) == 0) rethrow_failure();
}

/// What the graph replays must exist as long as it does.
void DeviceCalls::keep_with(cuda::Graph graph) {
  auto kept = std::make_unique<Kept>(
      Kept{watcher_, current_.resident && current_.resident->is_in_windows()});
  watcher_->retain(kept->uses_windows);
  cuda::keep_with(graph, kept.release(), forgotten);
}

void DeviceCalls::note_in_trace(std::span<const stream::Request> requests) {
  for (const stream::Request& request : requests)
    current_.traced.add(watcher_->state(), request, trace::Way::between_devices,
                        current_.capture.has_value());
}

void DeviceCalls::begin(const stream::Request& request) {
  rethrow_failure();
  const StagingHeap& heap = watcher_->heap();
  heap.flags().forget_reading(heap.rank());
  const cuda::CurrentContext current(context_);
  stream::check_context(request.stream, request.call, context_, heap.rank());
  current_.begin(request.stream);
  resident::Executor* const executor = watcher_->executor();
  const bool waits = executor != nullptr && executor->serves(request.call);
  const WindowPlaces places = waits ? find_places(request) : WindowPlaces{};
  const std::uint64_t sequence = watcher_->announce(request.call, true, places);
  if (sequence == 0) return rethrow_failure();
  guarded([&] {
    const std::uint64_t number = current_.capture ? 0 : watcher_->next();
    if (waits) {
      if (places != WindowPlaces{}) claim_windows(number);
      current_.resident.emplace(request, places, windows_);
    } else {
      current_.collective.emplace(heap, request, planner_.plan(request.call, request.counts), turn_,
                                  number, collective_entries_);
      turn_ = current_.collective->next_turn();
    }
    note_in_trace({&request, 1});
    enter({.sequence = sequence}, number);
  });
}

/// Of a call that a kernel makes.
WindowPlaces DeviceCalls::find_places(const stream::Request& request) const {
  if (windows_.empty()) return {};
  const StagingHeap& heap = watcher_->heap();
  return places_of(request, watcher_->executor()->windows_of(request.call), windows_, heap.rank(),
                   heap.ranks());
}

/// For the call that is about to be put into its stream.
void DeviceCalls::enter(Waiting waiting, std::uint64_t number) {
  if (current_.capture) {
    keep_with(current_.capture->graph);
  }
  // Before the call counts: if this is refused, nothing of it is in a stream.
  orders_->follow(current_.stream, current_.capture);
  if (!current_.capture) {
    watcher_->expect(std::move(waiting));
    current_.number = number;
  }
  current_.traced.begin(current_.stream);
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
  const auto first = std::ranges::find(messages, rank, &stream::Request::peer);
  // Messages to the rank itself all take the same path.
  if (first != messages.end() && served[static_cast<std::size_t>(first - messages.begin())]) {
    const stream::OwnMessages own(messages, rank);
    own.check_sides(rank);
    for (std::size_t i = 0; i < own.sends.size(); ++i)
      check_own(own.sends[i]->call, own.receives[i]->call, rank);
  }
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
  const StagingHeap& heap = watcher_->heap();
  heap.flags().forget_reading(heap.rank());
  const cuda::CurrentContext current(context_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (served[i]) stream::check_context(group[i].stream, group[i].call, context_, heap.rank());
  }
  announce(group, served);
  current_.number = 0;
  guarded([&] {
    std::vector<stream::Request> messages;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (served[i] && group[i].call.count > 0) messages.push_back(std::move(group[i]));
    }
    if (messages.empty()) return;
    current_.begin(messages.front().stream);
    const std::uint64_t number = current_.capture ? 0 : watcher_->next();
    Waiting waiting = waiting_for(messages, heap.rank());
    note_in_trace(messages);
    current_.messages.emplace(heap, std::move(messages), *message_state_, number);
    enter(std::move(waiting), number);
  });
}

void DeviceCalls::Current::begin(cuda::Stream of) {
  end();
  capture = cuda::capture_of(of);
  stream = of;
  number = 0;
  traced = {};
}

void DeviceCalls::Current::end() {
  collective.reset();
  messages.reset();
  resident.reset();
}

std::size_t DeviceCalls::Current::entries_left() const {
  constexpr std::size_t around = 2;  // waits for and records of events
  if (collective) return around + collective->entries_left();
  return around + (messages ? messages->entries_left() : resident ? ResidentCall::entries : 0);
}

void DeviceCalls::wait_for_room() {
  const StagingHeap& heap = watcher_->heap();
  std::uint32_t& completed = heap.flags().completed(heap.rank());
  stream::Wait wait;
  while (!queued_.has_room_for(current_.entries_left())) {
    // relaxed: it orders nothing.
    queued_.complete(std::atomic_ref(completed).load(std::memory_order_relaxed));
    if (queued_.has_room_for(current_.entries_left())) return;
    rethrow_failure();
    wait.once();
  }
}

bool DeviceCalls::advance() {
  if (!current_.is_there()) return false;
  const cuda::CurrentContext current(context_);
  bool more = false;
  guarded([&] {
    if (current_.number != 0) wait_for_room();
    if (current_.resident) {
      current_.resident->put(watcher_->heap(), *watcher_->executor(), current_.number);
    } else {
      more = current_.collective ? current_.collective->advance() : current_.messages->advance();
    }
    if (more) return;
    current_.traced.end(current_.stream);
    orders_->record(current_.stream, current_.capture);
  });
  if (more) return true;
  if (current_.number != 0) {
    if (current_.collective)
      collective_entries_ += static_cast<std::uint32_t>(current_.collective->entries());
    queued_.add(current_.number, current_.entries_left());
  }
  current_.end();
  return false;
}

/// What is in the stream comes to its end, as the watcher answers for everybody from here on.
void DeviceCalls::give_up(const Error& error) noexcept {
  watcher_->fail(error);
  const FlagSegment& flags = watcher_->heap().flags();
  const int rank = watcher_->heap().rank();
  std::optional<Messages> messages;
  if (current_.messages) messages.emplace(std::move(*current_.messages));
  current_.end();
  const std::uint64_t number = current_.number;
  if (number == 0) return;  // nothing is in a stream; or the graph is not whole, so it never runs
  watcher_->disorder();     // what follows may come before earlier calls in other streams
  try {
    if (messages) messages->gather();
    for (const std::uint32_t* const word : {&flags.begun(rank), &flags.completed(rank)})
      cuda::write_value(flags.device_address(*word), static_cast<unsigned>(number),
                        current_.stream);
    orders_->record(current_.stream, std::nullopt);
  } catch (const std::exception&) {
    watcher_->abandon(number);
  }
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
