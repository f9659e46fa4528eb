#include "core/direct_device/device_calls.h"

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
    : watcher_(std::move(watcher)), context_(watcher_->area().context()) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_ = std::make_shared<stream::Order>();
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
    order_.reset();
    others_.clear();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving events back: ") + error.what());
    // What the context had is gone with it: it must not be touched any more.
    order_->abandon();
    for (const auto& other : others_) other->abandon();
  }
}

bool DeviceCalls::serves(const stream::Request& request) const {
  const Call& call = request.call;
  const bool collective =
      call.collective != Collective::send_recv && call.collective != Collective::barrier;
  if (!collective || call.count == 0) return false;
  const Area& area = watcher_->area();
  if (info(call.collective).reduces && !area.reduces()) return false;
  if (has(call, Buffer::input, area.rank(), area.ranks()) && !cuda::is_device_memory(request.input))
    return false;
  return !has(call, Buffer::output, area.rank(), area.ranks()) ||
         cuda::is_device_memory(request.output);
}

void DeviceCalls::pass_over(const Call& call) {
  rethrow_failure();
  if (watcher_->announce(call, false) == 0) rethrow_failure();
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
  running_.emplace(watcher_->area(), request, turn_, capture_ ? 0 : number);
  turn_ = running_->next_turn();
  guarded([&] {
    if (capture_) {
      keep_with(capture_->graph);
    } else {
      watcher_->expect(number);
    }
    order_->follow(request.stream, capture_);
    for (const auto& other : others_) other->follow(request.stream, capture_);
  });
}

bool DeviceCalls::advance() {
  if (!running_) return false;
  const cuda::CurrentContext current(context_);
  bool more = false;
  guarded([&] {
    more = running_->advance();
    if (!more) order_->record(running_->stream(), capture_);
  });
  if (!more) running_.reset();
  return more;
}

/// What is in the stream comes to its end, as the watcher answers for everybody from here on.
void DeviceCalls::give_up(const Error& error) noexcept {
  watcher_->fail(error);
  const std::uint64_t number = running_->number();
  const SharedPage& page = watcher_->area().page();
  const std::uint32_t& completed = page.completed(watcher_->area().rank());
  const cuda::Stream stream = running_->stream();
  running_.reset();
  if (number == 0) return;  // the graph is not whole, so it never runs
  const int written =
      driver().stream_write_value(stream, page.device_address(completed),
                                  static_cast<unsigned>(number), cuda::write_value_default);
  try {
    check(written, "cuStreamWriteValue32");
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

}  // namespace rondo::direct_device
