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
    finish_streams();
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
  const Call& call = request.call;
  const bool agreed = call.collective == Collective::send_recv
                          ? watcher_->announce(call, request.peer, request.sends, false)
                          : watcher_->announce(call, false) != 0;
  if (!agreed) rethrow_failure();
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

/// Messages of one direction with one peer, as one.
Waiting waiting_for(const std::vector<stream::Request>& messages, int rank) {
  Waiting waiting;
  for (const stream::Request& request : messages) {
    const auto same = [&](const Waiting::Part& part) {
      return part.peer == request.peer && part.sends == request.sends;
    };
    if (request.peer == rank || std::ranges::any_of(waiting.messages, same)) continue;
    waiting.messages.push_back({request.peer, request.sends,
                                (request.sends ? "send of " : "recv of ") +
                                    std::to_string(request.call.count) + " x " +
                                    std::string(name(request.call.type))});
  }
  return waiting;
}

/// Throws where the two sides of a message are known to differ, or a message to this very rank has
/// one only.
void DeviceCalls::announce(const std::vector<stream::Request>& messages) {
  const int rank = watcher_->area().rank();
  std::vector<const stream::Request*> sends;
  std::vector<const stream::Request*> receives;
  for (const stream::Request& request : messages) {
    if (request.peer == rank) (request.sends ? sends : receives).push_back(&request);
  }
  if (sends.size() != receives.size()) {
    throw Error(ErrorCode::invalid_usage,
                "a send or recv with this very rank waits for ever without its other side",
                {.rank = rank, .peer = rank, .remedy = "put both into one group"});
  }
  for (const stream::Request& request : messages) {
    if (!watcher_->announce(request.call, request.peer, request.sends, true)) rethrow_failure();
  }
}

void DeviceCalls::begin(std::vector<stream::Request> messages) {
  rethrow_failure();
  const cuda::CurrentContext current(context_);
  for (const stream::Request& request : messages) check_context(request);
  announce(messages);
  std::erase_if(messages, [](const stream::Request& request) { return request.call.count == 0; });
  if (messages.empty()) return;
  const cuda::Stream stream = messages.front().stream;
  capture_ = cuda::capture_of(stream);
  Waiting waiting = waiting_for(messages, watcher_->area().rank());
  has_sent_ = has_sent_ || std::ranges::any_of(waiting.messages, &Waiting::Part::sends);
  const cuda::RelaxedCapture relaxed;  // it may need streams
  messages_.emplace(watcher_->area(), std::move(messages), message_state_,
                    capture_ ? 0 : watcher_->next());
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
  finish_streams();
  wait_for_receivers();
}

/// What was sent lies in this rank's memory until it is received: a process must not end before.
void DeviceCalls::wait_for_receivers() const {
  if (!has_sent_) return;
  const Area& area = watcher_->area();
  const auto timeout = watcher_->state().config().timeout;
  const auto begin = std::chrono::steady_clock::now();
  for (int peer = 0; peer < area.ranks(); ++peer) {
    for (int slot = 0; peer != area.rank() && slot < slots; ++slot) {
      // acquire: the receiver has read.
      const std::atomic_ref taken(area.page().signal(Signal::taken, slot, peer, area.rank()));
      while (taken.load(std::memory_order_acquire) == 0 && !watcher_->has_failed()) {
        if (std::chrono::steady_clock::now() - begin > timeout) {
          throw Error(ErrorCode::timeout, "a message was not received within RONDO_TIMEOUT",
                      {.rank = area.rank(),
                       .peer = peer,
                       .call = "send",
                       .remedy = "make the peer call ncclRecv for each ncclSend"});
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  }
}

void DeviceCalls::finish_streams() {
  if (!order_->used()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_->finish();
}

}  // namespace rondo::direct_device
