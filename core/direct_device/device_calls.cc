#include "core/direct_device/device_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/log.h"
#include "core/schedule/layout.h"

namespace rondo::direct_device {
namespace {

using cuda::check;
using cuda::driver;

/// Whether the rank has such a buffer in the call at all.
bool has(const Call& call, Buffer buffer, int rank, int ranks) {
  const Layout layout = make_layout(call.collective, ranks, 1);
  return held(call.collective, buffer, layout, rank, call.root).count > 0;
}

void forgotten(void* data) {
  const std::unique_ptr<std::shared_ptr<Watcher>> watcher(
      static_cast<std::shared_ptr<Watcher>*>(data));
  (*watcher)->forget();
}

}  // namespace

DeviceCalls::DeviceCalls(std::shared_ptr<Watcher> watcher)
    : watcher_(std::move(watcher)),
      context_(watcher_->area().context()),
      message_state_(watcher_->area().ranks()) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_ = std::make_shared<stream::Order>();
  message_state_.scratch = cuda::make_event();
}

std::shared_ptr<DeviceCalls> DeviceCalls::make(
    const std::shared_ptr<detail::CommunicatorState>& state, cuda::Context context) {
  std::shared_ptr<ControlLine> line;
  std::unique_ptr<Area> area = Area::make(state, context, line);
  if (area == nullptr) return nullptr;
  const auto watcher = std::make_shared<Watcher>(state, line, std::move(area));
  std::shared_ptr<DeviceCalls> made(new DeviceCalls(watcher));
  watcher->start(made);
  return made;
}

/// Whoever lets go last, usually the watcher's thread.
DeviceCalls::~DeviceCalls() {
  try {
    finish();
    const cuda::RelaxedCapture relaxed;
    const cuda::CurrentContext current(context_);
    message_state_.streams.clear();
    message_state_.scratch.reset();
    order_.reset();
    others_.clear();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving events back: ") + error.what());
    // What the context had is gone with it: it must not be touched any more.
    for (cuda::OwnedStream& stream : message_state_.streams) (void)stream.release();
    (void)message_state_.scratch.release();
    order_->abandon();
    for (const auto& other : others_) other->abandon();
  }
}

bool DeviceCalls::serves(const stream::Request& request) const {
  const Call& call = request.call;
  if (call.collective == Collective::send_recv)
    return call.count == 0 ||
           cuda::is_device_memory(request.sends ? request.input : request.output);
  if (call.collective == Collective::barrier || call.count == 0) return false;
  const Area& area = watcher_->area();
  if (info(call.collective).reduces && !area.reduces()) return false;
  if (has(call, Buffer::input, area.rank(), area.ranks()) && !cuda::is_device_memory(request.input))
    return false;
  return !has(call, Buffer::output, area.rank(), area.ranks()) ||
         cuda::is_device_memory(request.output);
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
              {.rank = watcher_->area().rank(),
               .call = to_string(request.call),
               .remedy = "use a communicator for one device, and make that device current"});
}

/// What the graph replays must exist as long as it does.
void DeviceCalls::keep_with(cuda::Graph graph) {
  auto kept = std::make_unique<std::shared_ptr<Watcher>>(watcher_);
  cuda::UserObject object = nullptr;
  check(driver().user_object_create(&object, kept.get(), forgotten, 1,
                                    cuda::user_object_no_destructor_sync),
        "cuUserObjectCreate");
  watcher_->retain();
  kept.release();
  check(driver().graph_retain_user_object(graph, object, 1, cuda::graph_user_object_move),
        "cuGraphRetainUserObject");
}

template <class Body>
void DeviceCalls::guarded(Body body) {
  try {
    body();
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
}

void DeviceCalls::begin(const stream::Request& request) {
  rethrow_failure();
  const cuda::CurrentContext current(context_);
  check_context(request);
  capture_ = cuda::capture_of(request.stream);
  const std::uint64_t number = watcher_->announce(request.call, true);
  if (number == 0) return rethrow_failure();
  running_.emplace(watcher_->area(), request, turn_, capture_ ? 0 : watcher_->next());
  turn_ = running_->next_turn();
  enter(request.stream, {.sequence = number});
}

/// Of what is to be put into `stream` from here on.
void DeviceCalls::enter(cuda::Stream stream, Waiting waiting) {
  guarded([&] {
    if (capture_) {
      keep_with(capture_->graph);
    } else {
      watcher_->expect(std::move(waiting));
    }
    order_->follow(stream, capture_);
    for (const auto& other : others_) other->follow(stream, capture_);
  });
}

/// "4 x float32"
std::string shape_of(const Call& message) {
  return std::to_string(message.count) + " x " + std::string(name(message.type));
}

/// Messages of one direction with one peer, as one.
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

/// Throws where the two sides of a message are known to differ, or a message to this very rank has
/// one only.
void DeviceCalls::announce(const std::vector<stream::Request>& messages,
                           const std::vector<bool>& served) {
  const int rank = watcher_->area().rank();
  std::vector<const stream::Request*> sends;
  std::vector<const stream::Request*> receives;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].peer == rank && served[i])
      (messages[i].sends ? sends : receives).push_back(&messages[i]);
  }
  if (sends.size() != receives.size()) {
    throw Error(ErrorCode::invalid_usage,
                "a send or recv with this very rank waits for ever without its other side",
                {.rank = rank, .peer = rank, .remedy = "put both into one group"});
  }
  for (std::size_t i = 0; i < sends.size(); ++i) check_own(sends[i]->call, receives[i]->call, rank);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const stream::Request& message = messages[i];
    if (!watcher_->announce(message.call, message.peer, message.sends, served[i]))
      rethrow_failure();
  }
}

/// All are numbered in the order of their calls, as the peers number them, whatever way they take.
void DeviceCalls::begin(std::vector<stream::Request> group, const std::vector<bool>& served) {
  rethrow_failure();
  const cuda::CurrentContext current(context_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (served[i]) check_context(group[i]);
  }
  announce(group, served);
  std::vector<stream::Request> messages;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (served[i] && group[i].call.count > 0) messages.push_back(std::move(group[i]));
  }
  if (messages.empty()) return;
  const cuda::Stream stream = messages.front().stream;
  capture_ = cuda::capture_of(stream);
  Waiting waiting = waiting_for(messages, watcher_->area().rank());
  const cuda::RelaxedCapture relaxed;  // it may need streams
  try {
    messages_.emplace(watcher_->area(), std::move(messages), message_state_,
                      capture_ ? 0 : watcher_->next());
  } catch (const Error& error) {
    watcher_->fail(error);  // as they have been announced
    throw;
  }
  enter(stream, std::move(waiting));
}

bool DeviceCalls::advance() {
  if (!running_ && !messages_) return false;
  const cuda::CurrentContext current(context_);
  bool more = false;
  guarded([&] {
    more = running_ ? running_->advance() : messages_->advance();
    if (!more) order_->record(running_ ? running_->stream() : messages_->stream(), capture_);
  });
  if (!more) running_.reset();
  if (!more) messages_.reset();
  return more;
}

/// What is in the stream comes to its end, as the watcher answers for everybody from here on.
void DeviceCalls::give_up(const Error& error) noexcept {
  watcher_->fail(error);
  const std::uint64_t number = running_ ? running_->number() : messages_->number();
  const SharedPage& page = watcher_->area().page();
  const std::uint32_t& completed = page.completed(watcher_->area().rank());
  const cuda::Stream stream = running_ ? running_->stream() : messages_->stream();
  std::optional<Messages> messages;
  if (messages_) messages.emplace(std::move(*messages_));
  running_.reset();
  messages_.reset();
  if (number == 0) return;  // the graph is not whole, so it never runs
  try {
    if (messages) messages->gather();
    check(driver().stream_write_value(stream, page.device_address(completed),
                                      static_cast<unsigned>(number), cuda::write_value_default),
          "cuStreamWriteValue32");
    order_->record(stream, std::nullopt);
  } catch (const std::exception&) {
    watcher_->abandon(number);
  }
}

void DeviceCalls::finish() {
  if (!order_->used()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_->finish();
}

/// It lies in this rank's memory, which a process must not take away by ending.
void DeviceCalls::wait_for_readers() const {
  const Area& area = watcher_->area();
  const auto timeout = watcher_->state().config().timeout;
  const auto begin = std::chrono::steady_clock::now();
  const auto wait = [&](Signal kind, int place, int peer) {
    // acquire: the reader has read.
    const std::atomic_ref read(area.page().signal(kind, place, peer, area.rank()));
    while (read.load(std::memory_order_acquire) == 0 && !watcher_->has_failed()) {
      if (std::chrono::steady_clock::now() - begin > timeout) {
        throw Error(ErrorCode::timeout,
                    "what this rank has shown or sent was not read within RONDO_TIMEOUT",
                    {.rank = area.rank(),
                     .peer = peer,
                     .remedy = "make the peer take part in each call, and receive each message"});
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  };
  for (int peer = 0; peer < area.ranks(); ++peer) {
    if (peer == area.rank()) continue;
    for (int half = 0; half < halves; ++half) wait(Signal::free, half, peer);
    for (int slot = 0; slot < slots; ++slot) wait(Signal::taken, slot, peer);
  }
}

}  // namespace rondo::direct_device
