#include "core/stream/stream_calls.h"

#include <algorithm>

#include "core/base/log.h"

namespace rondo::stream {
namespace {

using cuda::check;
using cuda::driver;

constexpr std::size_t collective_slot_bytes = std::size_t{1} << 20;
constexpr std::size_t message_slot_bytes = std::size_t{1} << 18;
constexpr std::size_t scalar_bytes = 8;  ///< the widest type's; scalars of others are shorter

bool is_message(const Request& request) { return request.call.collective == Collective::send_recv; }

/// Whether ranks match one by the order in which it begins before or behind the other.
bool are_of_one_kind(const Request& a, const Request& b) {
  if (!is_message(a) || !is_message(b)) return is_message(a) == is_message(b);
  return a.peer == b.peer && a.sends == b.sends;
}

/// Finds the item's place in the order of its kind; it is about to join `items`.
void find_place(const std::vector<Item>& items, Item& item) {
  item.first_of_kind = items.size();
  for (std::size_t i = items.size(); i-- > 0;) {
    if (!are_of_one_kind(items[i].request, item.request)) continue;
    item.behind = i;
    item.first_of_kind = items[i].first_of_kind;
    return;
  }
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

void copy(const void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  check(driver().memcpy_async(cuda::address_of(to), cuda::address_of(from), bytes, stream),
        "cuMemcpyAsync");
}

/// Puts a slice's way into its slot into `stream`.
void enter(Item& item, cuda::Stream stream) {
  const std::size_t slice = item.entered;
  if (item.input_on_device) {
    const auto* const from = static_cast<const std::byte*>(item.request.input);
    for (std::size_t run = 0; run < item.slices.input_copies(slice); ++run) {
      const Slices::Copy part = item.slices.input_copy(slice, run);
      copy(item.lane->slot(slice) + part.slot_offset, from + part.buffer_offset, part.bytes,
           stream);
    }
  }
  item.lane->write_ready(slice, stream);
  ++item.entered;
}

/// The same for the wait until it is done, and its way out.
void leave(const Item& item, std::size_t slice, cuda::Stream stream) {
  item.lane->await_done(slice, stream);
  if (!item.output_on_device) return;
  const auto* const to = static_cast<const std::byte*>(item.request.output);
  for (std::size_t run = 0; run < item.slices.output_copies(slice); ++run) {
    const Slices::Copy part = item.slices.output_copy(slice, run);
    copy(to + part.buffer_offset, item.lane->slot(slice) + part.slot_offset, part.bytes, stream);
  }
}

bool fits_its_lane(const Item& item) { return item.slices.count() <= Lane::depth; }

/// The slices that find a free slot at once.
void enter_first(Item& item, cuda::Stream stream) {
  if (item.scalar_on_device) {
    const std::size_t bytes = std::min(scalar_bytes, size_of(item.request.call.type));
    copy(item.lane->scalar(), item.request.scalar, bytes, stream);
  }
  while (item.entered < std::min(item.slices.count(), Lane::depth)) enter(item, stream);
}

void enter_rest_and_leave(Item& item, cuda::Stream stream) {
  std::size_t left = 0;
  for (; item.entered < item.slices.count(); ++left) {
    leave(item, left, stream);
    enter(item, stream);
  }
  for (; left < item.slices.count(); ++left) leave(item, left, stream);
}

}  // namespace

StreamCalls::StreamCalls(std::shared_ptr<detail::CommunicatorState> state, cuda::Context context)
    : context_(context), worker_(std::make_shared<Worker>(std::move(state))) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  collective_lanes_.push_back(std::make_unique<Lane>(collective_slot_bytes));
  last_ = cuda::make_event();
  captured_last_ = cuda::make_event();
  scratch_ = cuda::make_event();
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
    collective_lanes_.clear();
    message_lanes_.clear();
    last_.reset();
    captured_last_.reset();
    scratch_.reset();
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("while giving memory back: ") + error.what());
  }
}

void StreamCalls::prepare(const std::vector<Request>& requests) {
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  const auto messages = static_cast<std::size_t>(std::ranges::count_if(requests, is_message));
  const std::size_t collectives = requests.size() - messages;
  while (collective_lanes_.size() < collectives)
    collective_lanes_.push_back(std::make_unique<Lane>(collective_slot_bytes));
  while (message_lanes_.size() < messages)
    message_lanes_.push_back(std::make_unique<Lane>(message_slot_bytes));
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

std::shared_ptr<Batch> StreamCalls::make_batch(std::vector<Request> requests) {
  const detail::CommunicatorState& state = worker_->state();
  auto batch = std::make_shared<Batch>();
  batch->worker = worker_;
  std::size_t collectives = 0;
  std::size_t messages = 0;
  for (Request& request : requests) {
    Lane* const lane =
        (is_message(request) ? message_lanes_[messages++] : collective_lanes_[collectives++]).get();
    const Slices slices(request.call, request.sends, state.rank(), state.size(),
                        lane->slot_bytes());
    Item item{.slices = slices, .lane = lane};
    item.input_on_device = cuda::is_device_memory(request.input);
    item.output_on_device = cuda::is_device_memory(request.output);
    item.scalar_on_device = request.scale && cuda::is_device_memory(request.scalar);
    item.request = std::move(request);
    find_place(batch->items, item);
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

void StreamCalls::enqueue(std::vector<Request> requests) {
  worker_->rethrow_failure();
  for (const Request& request : requests) check_context(request);
  check_messages_to_self(requests);
  prepare(requests);
  const cuda::CurrentContext current(context_);
  const auto capture = cuda::capture_of(requests.front().stream);
  const std::shared_ptr<Batch> batch = make_batch(std::move(requests));
  worker_->expect(batch);
  used_ = true;
  try {
    if (capture) keep_with(batch, capture->graph);
    put(*batch, capture);
  } catch (const std::exception& error) {
    give_up(*batch, error.what());
    throw;
  }
}

/// Putting it into the stream failed. What was put there must come to an end all the same.
void StreamCalls::give_up(Batch& batch, const char* words) {
  if (batch.announced) {
    worker_->fail(words);
    // release: the worker reads how far each item got.
    batch.cut.store(true, std::memory_order_release);
  } else if (!batch.captured) {
    worker_->forget(batch);  // else the graph does it
  }
}

void StreamCalls::follow_last(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
  const bool within = capture && capture->id == captured_in_;
  const unsigned flags = capture && !within ? cuda::event_wait_external : 0;
  check(driver().stream_wait_event(stream, (within ? captured_last_ : last_).get(), flags),
        "cuStreamWaitEvent");
}

void StreamCalls::record_last(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
  if (!capture) return check(driver().event_record(last_.get(), stream), "cuEventRecord");
  check(driver().event_record(captured_last_.get(), stream), "cuEventRecord");
  captured_in_ = capture->id;
  check(driver().event_record_with_flags(last_.get(), stream, cuda::event_record_external),
        "cuEventRecordWithFlags");
}

void StreamCalls::join(cuda::Stream stream, cuda::Stream other) {
  if (stream == other) return;
  check(driver().event_record(scratch_.get(), other), "cuEventRecord");
  check(driver().stream_wait_event(stream, scratch_.get(), 0), "cuStreamWaitEvent");
}

void StreamCalls::put(Batch& batch, const std::optional<cuda::Capture>& capture) {
  const cuda::Stream stream = batch.items.front().request.stream;
  follow_last(stream, capture);
  for (const Item& item : batch.items) join(stream, item.request.stream);
  check(driver().launch_host_func(stream, arrived, &batch), "cuLaunchHostFunc");
  batch.announced = true;
  put_items(batch, stream);
  for (const Item& item : batch.items) join(item.request.stream, stream);
  record_last(stream, capture);
}

/// Items that need a slot twice go on in streams of their own, one for each kind: in one stream a
/// message would wait for another one, which may be waiting for what this one brings about. Those
/// of one kind follow each other anyway.
void StreamCalls::put_items(Batch& batch, cuda::Stream stream) {
  for (Item& item : batch.items) enter_first(item, stream);
  if (batch.items.size() == 1) return enter_rest_and_leave(batch.items.front(), stream);
  const auto stream_of_kind = [&](const Item& item) {
    return batch.items[item.first_of_kind].lane->own_stream();
  };
  for (Item& item : batch.items) {
    if (fits_its_lane(item)) continue;
    join(stream_of_kind(item), stream);
    enter_rest_and_leave(item, stream_of_kind(item));
  }
  for (Item& item : batch.items) {
    if (fits_its_lane(item)) enter_rest_and_leave(item, stream);
  }
  for (const Item& item : batch.items) {
    if (!fits_its_lane(item)) join(stream, stream_of_kind(item));
  }
}

void StreamCalls::finish() {
  if (!used_) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(context_);
  check(driver().event_synchronize(last_.get()), "cuEventSynchronize");
}

}  // namespace rondo::stream
