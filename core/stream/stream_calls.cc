#include "core/stream/stream_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/stream/entries.h"
#include "core/stream/wait.h"

namespace rondo::stream {
namespace {

using cuda::check;
using cuda::driver;

constexpr std::size_t collective_slot_bytes = std::size_t{1} << 20;
constexpr std::size_t message_slot_bytes = std::size_t{1} << 18;
/// Lanes for messages that a communicator of so many ranks has from the start: each way to each
/// peer, but not more than 8 MiB.
std::size_t usual_lanes(int ranks) {
  constexpr std::size_t most = 8;
  return std::min(most, 2 * std::max<std::size_t>(1, static_cast<std::size_t>(ranks) - 1));
}

bool is_message(const Request& request) { return request.call.collective == Collective::send_recv; }

/// Whether ranks match them by the order in which they begin.
bool are_of_one_kind(const Request& a, const Request& b) {
  if (!is_message(a) || !is_message(b)) return is_message(a) == is_message(b);
  return a.peer == b.peer && a.sends == b.sends;
}

void arrived(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  const std::shared_ptr<Worker> worker = batch.worker;  // which may let go of the batch at once
  worker->arrive(batch);
}

void forgotten(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  const std::shared_ptr<Worker> worker = batch.worker;
  worker->forget(batch);
}

/// Peers and directions of messages.
std::size_t count_message_kinds(const std::vector<Request>& requests) {
  std::vector<const Request*> kinds;
  for (const Request& request : requests) {
    const auto same = [&](const Request* known) { return are_of_one_kind(*known, request); };
    if (is_message(request) && std::ranges::none_of(kinds, same)) kinds.push_back(&request);
  }
  return kinds.size();
}

bool fits_its_lane(const Kind& kind) { return kind.slices <= Lane::depth; }

/// Where what waits for a kind's slices goes. Kinds that need a slot twice go on in streams of
/// their own: in one stream a message would wait for another one, which may be waiting for what
/// this one brings about.
cuda::Stream stream_of(const Batch& batch, const Kind& kind) {
  const bool apart = batch.kinds.size() > 1 && !fits_its_lane(kind);
  return apart ? kind.lane->own_stream() : batch.items.front().request.stream;
}

}  // namespace

StreamCalls::StreamCalls(std::shared_ptr<detail::CommunicatorState> state, cuda::Context context)
    : context_(context), worker_(std::make_shared<Worker>(std::move(state))) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  collective_lane_ = std::make_unique<Lane>(collective_slot_bytes);
  add_lanes(usual_lanes(worker_->state().size()));
  order_ = std::make_shared<Order>();
  scratch_ = cuda::make_event();
  worker_->watch(context_);
}

std::shared_ptr<StreamCalls> StreamCalls::make(std::shared_ptr<detail::CommunicatorState> state,
                                               cuda::Context context) {
  std::shared_ptr<StreamCalls> made(new StreamCalls(std::move(state), context));
  made->worker_->start(made);
  return made;
}

/// Whoever lets go last, usually the worker's thread: streams may still copy out of the lanes.
StreamCalls::~StreamCalls() {
  try {
    finish();
    const cuda::RelaxedCapture relaxed;
    const cuda::CurrentContext current(context_);
    collective_lane_.reset();
    message_lanes_.clear();
    order_.reset();
    others_.clear();
    scratch_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving memory back: ") + error.what());
    abandon();
  }
}

/// What the context had is gone with it: it must not be touched any more.
void StreamCalls::abandon() {
  if (collective_lane_) collective_lane_->abandon();
  for (const auto& lane : message_lanes_) lane->abandon();
  if (order_) order_->abandon();
  for (const auto& other : others_) other->abandon();
  (void)scratch_.release();
}

void StreamCalls::add_lanes(std::size_t messages) {
  while (message_lanes_.size() < messages)
    message_lanes_.push_back(std::make_unique<Lane>(message_slot_bytes));
}

void StreamCalls::prepare(const std::vector<Request>& requests) {
  const std::size_t messages = count_message_kinds(requests);
  if (messages <= message_lanes_.size()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  if (cuda::capture_of(requests.front().stream)) {
    throw Error(
        ErrorCode::invalid_usage,
        "this group has " + std::to_string(messages) +
            " peers and directions of messages and the communicator page-locked memory for " +
            std::to_string(message_lanes_.size()) +
            "; more cannot be taken while a stream is captured",
        {.rank = worker_->state().rank(), .remedy = "make the same group once before the capture"});
  }
  add_lanes(messages);
}

void StreamCalls::check_context(const Request& request) const {
  cuda::Context context = nullptr;
  check(driver().stream_get_ctx(request.stream, &context), "cuStreamGetCtx");
  if (context == context_) return;
  throw Error(ErrorCode::invalid_usage,
              "this stream is of another CUDA context than the communicator's first one",
              {.rank = worker_->state().rank(),
               .call = to_string(request.call),
               .remedy = "use a communicator for one device, and make that device current"});
}

/// A message to this very rank needs both sides at once, as no other thread makes calls.
void StreamCalls::check_messages_to_self(const std::vector<Request>& requests) const {
  const int rank = worker_->state().rank();
  std::ptrdiff_t open = 0;
  for (const Request& request : requests) {
    if (is_message(request) && request.peer == rank) open += request.sends ? 1 : -1;
  }
  if (open == 0) return;
  throw Error(ErrorCode::invalid_usage,
              "a send or recv with this very rank waits for ever without its other side",
              {.rank = rank, .peer = rank, .remedy = "put both into one group"});
}

Kind& StreamCalls::kind_of(Batch& batch, const Request& request) const {
  std::size_t messages = 0;
  for (Kind& kind : batch.kinds) {
    const Request& known = batch.items[kind.items.front()].request;
    if (are_of_one_kind(known, request)) return kind;
    messages += is_message(known) ? 1 : 0;
  }
  Kind& made = batch.kinds.emplace_back();
  made.lane = is_message(request) ? message_lanes_[messages].get() : collective_lane_.get();
  return made;
}

std::shared_ptr<Batch> StreamCalls::make_batch(std::vector<Request> requests) const {
  const detail::CommunicatorState& state = worker_->state();
  auto batch = std::make_shared<Batch>();
  batch->worker = worker_;
  for (Request& request : requests) {
    Kind& kind = kind_of(*batch, request);
    const Slices slices(request.call, request.sends, state.rank(), state.size(),
                        kind.lane->slot_bytes());
    Item item{.slices = slices, .kind = &kind, .first = kind.slices};
    item.input_on_device = cuda::is_device_memory(request.input);
    item.output_on_device = cuda::is_device_memory(request.output);
    item.scalar_on_device = request.scale && cuda::is_device_memory(request.scalar);
    if (!kind.items.empty()) item.behind = kind.items.back();
    item.request = std::move(request);
    kind.items.push_back(batch->items.size());
    kind.slices += slices.count();
    batch->items.push_back(std::move(item));
  }
  return batch;
}

/// The graph keeps the batch: what it replays must exist as long as it does.
void StreamCalls::keep_with(const std::shared_ptr<Batch>& batch, cuda::Graph graph) {
  cuda::UserObject object = nullptr;
  check(driver().user_object_create(&object, batch.get(), forgotten, 1,
                                    cuda::user_object_no_destructor_sync),
        "cuUserObjectCreate");
  check(driver().graph_retain_user_object(graph, object, 1, cuda::graph_user_object_move),
        "cuGraphRetainUserObject");
  batch->captured = true;
}

void StreamCalls::keep_with(cuda::Graph graph) {
  const auto nothing = std::make_shared<Batch>();
  nothing->worker = worker_;
  worker_->expect(nothing);
  try {
    keep_with(nothing, graph);
  } catch (const std::exception&) {
    if (!nothing->captured) worker_->forget(*nothing);
    throw;
  }
}

void StreamCalls::enqueue(std::vector<Request> requests) {
  begin(std::move(requests));
  while (go_on()) {
  }
  end();
}

void StreamCalls::begin(std::vector<Request> requests) {
  worker_->refuse_after_failure();
  for (const Request& request : requests) check_context(request);
  check_messages_to_self(requests);
  prepare(requests);
  const cuda::CurrentContext current(context_);
  const auto capture = cuda::capture_of(requests.front().stream);
  putting_ = make_batch(std::move(requests));
  putting_->capture = capture;
  worker_->expect(putting_);
  put([&](Batch& batch) {
    if (capture) keep_with(putting_, capture->graph);
    enter_first(batch);
  });
}

bool StreamCalls::go_on() {
  bool moved = false;
  put([&](Batch& batch) {
    for (Kind& kind : batch.kinds) {
      if (kind.entered == kind.slices) continue;
      moved = true;
      if (!batch.captured) wait_for_room(batch, kind);
      leave_next(batch, kind, stream_of(batch, kind));
      enter_next(batch, kind, stream_of(batch, kind));
    }
  });
  return moved;
}

void StreamCalls::end() {
  put([&](Batch& batch) {
    const cuda::Stream stream = batch.items.front().request.stream;
    for (Kind& kind : batch.kinds) {
      while (kind.left < kind.slices) leave_next(batch, kind, stream_of(batch, kind));
    }
    for (const Kind& kind : batch.kinds) join(stream, stream_of(batch, kind));
    for (const Item& item : batch.items) join(item.request.stream, stream);
    order_->record(stream, batch.capture);
  });
  putting_.reset();
}

/// Runs a part of the putting. One that fails is the last: what is in streams already must come to
/// an end all the same.
template <class Body>
void StreamCalls::put(Body&& body) {
  try {
    const cuda::CurrentContext current(context_);
    body(*putting_);
  } catch (const std::exception& error) {
    give_up(*std::exchange(putting_, nullptr), error.what());
    throw;
  }
}

/// What comes behind in the stream, a graph say, uses the same flags: so it must wait until those
/// of this batch are answered. Where the driver refuses that as well, it will refuse what comes
/// behind.
void StreamCalls::close_off(Batch& batch) {
  try {
    const cuda::CurrentContext current(context_);
    const cuda::Stream stream = batch.items.front().request.stream;
    for (Kind& kind : batch.kinds) {
      while (kind.left < kind.entered) await_next(batch, kind, stream_of(batch, kind));
    }
    for (const Kind& kind : batch.kinds) join(stream, stream_of(batch, kind));
    order_->record(stream, batch.capture);
  } catch (const Error& error) {
    log(LogLevel::info, worker_->state().rank(), std::string("behind a failure: ") + error.what());
  }
}

void StreamCalls::give_up(Batch& batch, const char* words) {
  if (batch.announced) {
    worker_->fail(words);
    close_off(batch);
    // release: the worker reads how far each item got.
    batch.cut.store(true, std::memory_order_release);
  } else if (!batch.captured) {
    worker_->forget(batch);  // else the graph does it
  }
}

/// Nothing of this waits but for what was in the streams before: not for other ranks.
void StreamCalls::enter_first(Batch& batch) {
  const cuda::Stream stream = batch.items.front().request.stream;
  order_->follow(stream, batch.capture);
  for (const auto& other : others_) other->follow(stream, batch.capture);
  for (const Item& item : batch.items) join(stream, item.request.stream);
  check(driver().launch_host_func(stream, arrived, &batch), "cuLaunchHostFunc");
  batch.announced = true;
  for (Kind& kind : batch.kinds) {
    while (kind.entered < std::min(kind.slices, Lane::depth)) enter_next(batch, kind, stream);
  }
  for (const Kind& kind : batch.kinds) join(stream_of(batch, kind), stream);
}

/// Slices that the worker has answered are out of the queue, or about to be.
void StreamCalls::wait_for_room(const Batch& batch, const Kind& kind) const {
  const std::size_t most = std::max(Lane::depth, queued_entries / entries_of_next(batch, kind));
  Wait wait;
  while (kind.entered - kind.answered.load(std::memory_order_relaxed) >= most) {
    wait.once();
    if (wait.is_long() && worker_->look_for_loss()) worker_->rethrow_failure();
  }
}

void StreamCalls::finish() {
  if (!order_->used()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  order_->finish();
}

}  // namespace rondo::stream
