#include "core/stream/stream_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/cuda/memory_operations.h"
#include "core/stream/buffers.h"
#include "core/stream/entries.h"
#include "core/stream/own_messages.h"
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

/// Whether ranks match them by the order in which they begin.
bool are_of_one_kind(const Request& a, const Request& b) {
  if (!is_message(a) || !is_message(b)) return is_message(a) == is_message(b);
  return a.peer == b.peer && a.sends == b.sends;
}

void arrived(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  batch.worker->arrive(batch);
}

void forgotten(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  batch.worker->forget_captured(batch);
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

/// Whether all its slices enter before any leaves.
bool enters_at_once(const Kind& kind) { return kind.slices <= Lane::depth && !kind.waits; }

/// Where what waits for a kind's slices goes. Kinds that do not enter at once go on in streams of
/// their own: in one stream a message would wait for another one, which may be waiting for what
/// this one brings about.
cuda::Stream stream_of(const Batch& batch, const Kind& kind) {
  const bool apart = batch.kinds.size() > 1 && !enters_at_once(kind);
  return apart ? kind.apart : batch.items.front().request.stream;
}

/// Calls `body` with the streams that its calls were made in, some of them several times.
template <class Body>
void for_streams(const Batch& batch, const Body& body) {
  for (const Item& item : batch.items) body(item.request.stream);
  for (const OwnCopy& copy : batch.copies) {
    body(copy.sender);
    body(copy.receiver);
  }
}

}  // namespace

StreamCalls::StreamCalls(std::shared_ptr<detail::CommunicatorState> state,
                         cuda::SharedContext context)
    : context_(std::move(context)), worker_(std::make_shared<Worker>(std::move(state))) {
  cuda::require_memory_operations(context_.get());
  const cuda::CurrentContext current(context_.get());
  device_ = cuda::current_device();
  collective_lane_ = std::make_unique<Lane>(collective_slot_bytes);
  add_lanes(usual_lanes(worker_->state().size()));
  sides_.emplace(worker_->state().size());
  orders_.emplace(context_.get());
  scratch_ = cuda::make_event();
  worker_->watch(context_);
}

std::shared_ptr<StreamCalls> StreamCalls::make(std::shared_ptr<detail::CommunicatorState> state,
                                               cuda::SharedContext context) {
  std::shared_ptr<StreamCalls> made(new StreamCalls(std::move(state), std::move(context)));
  made->worker_->start(made);
  return made;
}

/// Called by the last owner to let go, usually the worker's thread. Streams may still copy out of
/// the lanes.
StreamCalls::~StreamCalls() {
  try {
    finish();
    const cuda::CurrentContext current(context_.get());
    collective_lane_.reset();
    message_lanes_.clear();
    sides_->close();
    orders_->close();
    scratch_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving memory back: ") + error.what(),
        LogSubsystem::destroy);
    abandon();
  }
}

/// What the context had is gone with it: it must not be touched any more.
void StreamCalls::abandon() {
  if (collective_lane_) collective_lane_->leave();
  for (const auto& lane : message_lanes_) lane->leave();
  if (sides_) sides_->abandon();
  orders_->abandon();
  (void)scratch_.release();
}

void StreamCalls::add_lanes(std::size_t messages) {
  while (message_lanes_.size() < messages)
    message_lanes_.push_back(std::make_unique<Lane>(message_slot_bytes));
}

void StreamCalls::prepare(const std::vector<Request>& requests) {
  const auto copies = own_copies(requests, worker_->state().rank());
  const std::size_t messages = count_message_kinds(requests) - (copies && !copies->empty() ? 2 : 0);
  if (messages <= message_lanes_.size()) return;
  // Also while a stream is captured: none of it goes into the graph, and the graph keeps the lanes.
  const cuda::CurrentContext current(context_.get());
  add_lanes(messages);
}

Kind& StreamCalls::kind_of(Batch& batch, const Request& request) const {
  std::size_t messages = 0;
  for (Kind& kind : batch.kinds) {
    const Request& known = batch.items[kind.items.front()].request;
    if (are_of_one_kind(known, request)) return kind;
    messages += is_message(known) ? 1 : 0;
  }
  Kind& made = batch.kinds.emplace_back();
  made.apart = sides_->of(batch.kinds.size() - 1);
  made.lane = is_message(request) ? message_lanes_[messages].get() : collective_lane_.get();
  return made;
}

std::shared_ptr<Batch> StreamCalls::make_batch(std::vector<Request> requests) const {
  const detail::CommunicatorState& state = worker_->state();
  auto batch = std::make_shared<Batch>();
  batch->worker = worker_;
  Written written(state.rank(), state.size());
  for (Request& request : requests) {
    Kind& kind = kind_of(*batch, request);
    Slices slices(request.call, request.counts, request.sends, state.rank(), state.size(),
                  kind.lane->slot_bytes());
    Item& item = batch->items.emplace_back(Item{.request = std::move(request),
                                                .slices = std::move(slices),
                                                .kind = &kind,
                                                .first = kind.slices});
    item.scalar_on_device = item.request.scale && cuda::is_device_memory(item.request.scalar);
    item.waits = !is_message(item.request) && written.add(item.request);
    kind.waits |= item.waits;
    if (!kind.items.empty()) item.behind = kind.items.back();
    kind.items.push_back(batch->items.size() - 1);
    kind.slices += item.slices.count();
  }
  return batch;
}

/// The graph keeps the batch: what it replays must exist as long as it does.
void StreamCalls::keep_with(const std::shared_ptr<Batch>& batch, cuda::Graph graph) {
  batch->worker->leave_to_graph(*batch);
  cuda::keep_with(graph, batch.get(), forgotten);
}

void StreamCalls::keep_with(cuda::Graph graph) {
  const auto nothing = std::make_shared<Batch>();
  nothing->worker = worker_;
  worker_->expect(nothing);
  keep_with(nothing, graph);
}

void StreamCalls::enqueue(std::vector<Request> requests) {
  begin(std::move(requests));
  while (go_on()) {
  }
  end();
}

void StreamCalls::begin(std::vector<Request> requests) {
  worker_->refuse_after_failure();
  const cuda::CurrentContext current(context_.get());  // the null stream is this one's
  const int rank = worker_->state().rank();
  for (const Request& request : requests)
    check_context(request.stream, request.call, context_.get(), rank);
  OwnMessages(requests, rank).check_sides(rank);
  prepare(requests);
  const auto capture = cuda::capture_of(requests.front().stream);
  if (!capture) wait_for_earlier();
  traced_ = {};
  for (const Request& request : requests)
    traced_.add(worker_->state(), request, trace::Way::through_host, capture.has_value());
  auto copies = own_copies(requests, rank);
  if (copies) leave_out_own(requests, rank);
  putting_ = make_batch(std::move(requests));
  if (copies) putting_->copies = std::move(*copies);
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
      while (!may_enter_next(batch, kind)) leave_next(batch, kind, stream_of(batch, kind));
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
    traced_.end(stream);
    for_streams(batch, [&](cuda::Stream each) { join(each, stream); });
    orders_->record(stream, batch.capture);
  });
  if (!putting_->captured) earlier_.push_back(std::move(putting_));
  putting_.reset();
}

/// Runs one part of enqueue(). A part that fails is the last: what is in streams already must come
/// to an end all the same.
template <class Body>
void StreamCalls::put(Body&& body) {
  try {
    const cuda::CurrentContext current(context_.get());
    body(*putting_);
  } catch (const std::exception& error) {
    give_up(*std::exchange(putting_, nullptr), error.what());
    throw;
  }
}

/// What follows in the stream, such as a graph, uses the same flags. So it must wait until those of
/// this batch are answered. Where the driver refuses that as well, it will refuse what follows.
void StreamCalls::close_off(Batch& batch) {
  try {
    const cuda::CurrentContext current(context_.get());
    const cuda::Stream stream = batch.items.front().request.stream;
    for (Kind& kind : batch.kinds) {
      while (kind.left < kind.entered) await_next(batch, kind, stream_of(batch, kind));
    }
    for (const Kind& kind : batch.kinds) join(stream, stream_of(batch, kind));
    orders_->record(stream, batch.capture);
  } catch (const Error& error) {
    for (const Kind& kind : batch.kinds) kind.lane->leave();
    log(LogLevel::info, worker_->state().rank(), std::string("after a failure: ") + error.what(),
        LogSubsystem::coll);
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

/// All of this waits only for what was in the streams before, not for other ranks.
void StreamCalls::enter_first(Batch& batch) {
  const cuda::Stream stream = batch.items.front().request.stream;
  orders_->follow(stream, batch.capture);
  for_streams(batch, [&](cuda::Stream each) { join(stream, each); });
  traced_.begin(stream);
  check(driver().launch_host_func(stream, arrived, &batch), "cuLaunchHostFunc");
  batch.announced = true;
  for (Kind& kind : batch.kinds) {
    while (kind.entered < kind.slices && may_enter_next(batch, kind))
      enter_next(batch, kind, stream);
  }
  for (const Kind& kind : batch.kinds) join(stream_of(batch, kind), stream);
  for (const OwnCopy& copy : batch.copies) enter(copy, stream);
}

/// Slices that the worker has answered are out of the queue, or about to be.
std::size_t StreamCalls::entries_of_earlier() {
  while (!earlier_.empty() && entries_left(*earlier_.front()) == 0) earlier_.pop_front();
  std::size_t entries = 0;
  for (const auto& batch : earlier_) entries += entries_left(*batch);
  return entries;
}

/// Throws the failure of the communicator, after which there may never be room.
template <class IsFull>
void StreamCalls::wait_while(const IsFull& is_full) {
  Wait wait;
  while (is_full()) {
    wait.once();
    if (wait.is_long()) worker_->refuse_after_failure();
  }
}

void StreamCalls::wait_for_earlier() {
  wait_while([&] { return entries_of_earlier() >= queued_entries; });
}

/// As many slices as there are slots enter in any case.
void StreamCalls::wait_for_room(const Batch& batch, const Kind& kind) {
  const std::size_t each = entries_of_next(batch, kind);
  wait_while([&] {
    const std::size_t left = kind.entered - kind.answered.load(std::memory_order_relaxed);
    return left >= Lane::depth && left * each + entries_of_earlier() >= queued_entries;
  });
}

}  // namespace rondo::stream
