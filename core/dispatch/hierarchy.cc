#include "core/dispatch/hierarchy.h"

#include <algorithm>
#include <string>

#include "core/base/log.h"
#include "core/communicator/lifetime.h"
#include "core/cuda/pinned.h"
#include "core/direct_device/staging_heap.h"
#include "core/dispatch/dispatch.h"
#include "core/stream/buffers.h"

namespace rondo::dispatch {

/// What a rank's steps need, of its context. Goes with the last part, perhaps on a thread of its own.
class Hierarchy::Memory {
 public:
  explicit Memory(cuda::SharedContext context) : context_(std::move(context)) {
    const cuda::CurrentContext current(context_.get());
    device_ = cuda::current_device();
    word_.emplace(sizeof(std::uint32_t));
    written_.emplace();
    stream_ = cuda::make_stream();
    cuda::check(cuda::driver().mem_alloc(&scratch_, scratch_bytes), "cuMemAlloc");
  }
  ~Memory() {
    try {
      const cuda::CurrentContext current(context_.get());
      free_scratch();
      written_.reset();
      word_.reset();
      stream_.reset();
    } catch (const std::exception& error) {
      log(LogLevel::info, -1, std::string("while giving memory of steps back: ") + error.what(),
          LogSubsystem::destroy);
      if (written_) written_->abandon();  // gone with the context, as the stream is
      static_cast<void>(stream_.release());
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  cuda::Context context() const { return context_.get(); }
  Scratch scratch() const {
    return {reinterpret_cast<std::byte*>(scratch_),
            scratch_bytes,
            {.on_device = true, .device = device_}};
  }
  std::uint32_t* word() const { return reinterpret_cast<std::uint32_t*>(word_->data()); }
  /// What is in the stream is all that uses it so far: the stream writes the number into the word.
  void write(std::uint64_t number, cuda::Stream stream) {
    is_used_ = true;
    cuda::write_value(word_->device_address(word_->data()), static_cast<unsigned>(number), stream);
    written_->record(stream, std::nullopt);
  }
  /// Returns when no stream uses it any more.
  void finish() {
    const cuda::CurrentContext current(context_.get());
    written_->finish();
    is_used_ = false;
  }
  /// Streams may still use it when it goes, unless finish() came last.
  void leave(bool is_used) {
    is_used_ = is_used_ || is_used;
    if (is_used_) word_->leave();
  }

 private:
  /// cuMemFree waits for all of the context's streams: see direct_device/staging_heap.cc.
  void free_scratch() const {
    if (!is_used_ && cuda::driver().mem_free_async(scratch_, stream_.get()) == cuda::success)
      return;
    cuda::driver().mem_free(scratch_);
  }

  const cuda::SharedContext context_;
  int device_ = 0;
  std::optional<cuda::PinnedMemory> word_{};
  std::optional<stream::Order> written_{};
  cuda::OwnedStream stream_{};
  cuda::DevicePointer scratch_ = 0;
  bool is_used_ = false;
};

Hierarchy::Hierarchy(State state, std::shared_ptr<Memory> memory, Place place)
    : state_(std::move(state)),
      memory_(std::move(memory)),
      place_(place),
      whole_(state_->as_whole(std::shared_ptr<std::uint32_t>(memory_, memory_->word()))) {}

std::unique_ptr<Hierarchy> Hierarchy::make(const State& state, const cuda::SharedContext& context,
                                           bool meets) {
  const Place place = place_of(state->topology(), state->rank());
  if (place.hosts == 0 || !state->config().peer_to_peer) return nullptr;
  const auto agree = [&](const std::string& obstacle) {
    const std::string first = direct_device::first_said(state->exchange(obstacle));
    if (!first.empty())
      log(LogLevel::info, state->rank(), "GPU buffers make no steps by hosts: " + first,
          LogSubsystem::p2p);
    return first.empty();
  };
  std::shared_ptr<Memory> memory;
  std::string obstacle;
  try {
    if (context == nullptr) throw Error(ErrorCode::system, "no CUDA device was current");
    memory = std::make_shared<Memory>(context);
  } catch (const Error& error) {
    obstacle = error.message();
  }
  if (!agree(obstacle)) return nullptr;
  std::unique_ptr<Hierarchy> made(new Hierarchy(state, std::move(memory), place));
  if (!agree(made->open_parts(context, meets))) return nullptr;
  log(LogLevel::info, state->rank(),
      "GPU buffers go from GPU to GPU inside " + std::to_string(place.hosts) +
          " hosts, and a part of each through the hosts' memory",
      LogSubsystem::p2p);
  return made;
}

std::string Hierarchy::open_parts(const cuda::SharedContext& context, bool meets) {
  inside_ = std::make_shared<RankCalls>(context, meets);
  across_ = std::make_shared<RankCalls>(context, false);
  inside_->prepare(state_->open_part(place_.host, whole_));
  across_->prepare(state_->open_part(place_.index, whole_));
  const direct_device::DeviceCalls* const device = inside_->between_devices();
  if (device == nullptr) return "GPUs of its host do not reach each other";
  if (!across_->has_through_host()) return "there is no pinned memory";
  return device->reduces() ? "" : "there are no kernels for reductions";
}

Hierarchy::~Hierarchy() { memory_->leave(state_->failure().has_value()); }

std::vector<stream::Orders*> Hierarchy::orders() const {
  return {&inside_->between_devices()->orders(), &across_->through_host(nullptr)->orders()};
}

Hierarchy::Turn Hierarchy::begin(const stream::Request& request) {
  rethrow_failure();
  Call call = request.call;
  call.on_devices = is_in_steps(call, !request.counts.empty(), place_, state_->topology(),
                                state_->algorithms()) &&
                    stream::is_on_devices(request, state_->rank(), state_->size());
  Turn turn;
  if (call.on_devices) {
    stream::check_context(request.stream, call, memory_->context(), state_->rank());
    turn.steps = steps_of(request, place_, memory_->scratch());
    turn.traced.add(*state_, request, trace::Way::hierarchical, is_captured(request.stream));
  }
  const bool writes = call.on_devices && !is_captured(request.stream);
  const std::uint64_t number = whole_->begin(call, writes);
  if (writes) turn.number = number;
  return turn;
}

void Hierarchy::enter(const Turn& turn, cuda::Stream stream) const {
  const cuda::CurrentContext current(memory_->context());
  turn.traced.begin(stream);
}

void Hierarchy::copy(const Step& step, cuda::Stream stream) const {
  if (step.copies.empty()) return;
  const cuda::CurrentContext current(memory_->context());
  for (const DeviceCopy& each : step.copies) cuda::copy(each.to, each.from, each.bytes, stream);
}

void Hierarchy::end(const Turn& turn, cuda::Stream stream) const {
  const cuda::CurrentContext current(memory_->context());
  turn.traced.end(stream);
  if (turn.number != 0) memory_->write(turn.number, stream);
}

void Hierarchy::finish() {
  inside_->finish();
  across_->finish();
  memory_->finish();
}

void Hierarchy::finish_in_order() {
  inside_->finish_in_order();
  across_->finish_in_order();
  memory_->finish();
}

void Hierarchy::leave() {
  for (RankCalls* const part : {inside_.get(), across_.get()}) {
    part->leave();
    part->state()->leave_at_exit();
  }
  whole_->leave();
}

void Hierarchy::withdraw() { inside_->withdraw(); }

void Hierarchy::leave_rendezvous() { inside_->leave_rendezvous(); }

bool Hierarchy::is_kept() const { return inside_->is_kept() || across_->is_kept(); }

void Hierarchy::rethrow_failure() const {
  if (const auto failure = whole_->failure()) throw *failure;
  for (RankCalls* const part : {inside_.get(), across_.get()}) {
    try {
      part->rethrow_any_failure();
    } catch (const Error& error) {
      whole_->fail(error);
      throw *whole_->failure();
    }
  }
}

namespace {

/// A call of one rank in steps, and the position of its first among those of the group.
struct Stepped {
  const Asked* asked;
  const Hierarchy* hierarchy;
  Hierarchy::Turn turn;
  std::size_t first;

  const Step* at(std::size_t step) const {
    return step >= first && step - first < turn.steps.size() ? &turn.steps[step - first] : nullptr;
  }
  std::size_t end() const { return first + turn.steps.size(); }
};

void add(RankCalls& part, const std::vector<stream::Request>& requests, std::vector<Asked>& to) {
  for (const stream::Request& request : requests)
    to.push_back({.calls = &part, .request = request, .in_order = true});
}

void put_step(const std::vector<Stepped>& calls, std::size_t step, FirstFailure& failure) {
  std::vector<Asked> inside;
  std::vector<Asked> across;
  for (const Stepped& each : calls) {
    const Step* const mine = each.at(step);
    if (mine == nullptr) continue;
    const cuda::Stream stream = each.asked->request.stream;
    failure.watch([&] {
      if (step == each.first) each.hierarchy->enter(each.turn, stream);
      each.hierarchy->copy(*mine, stream);
    });
    add(each.hierarchy->inside(), mine->inside, inside);
    add(each.hierarchy->across(), mine->across, across);
  }
  for (const std::vector<Asked>* const group : {&inside, &across}) {
    AskedList asked;
    for (const Asked& each : *group) asked.push_back(&each);
    put_into_streams(asked, failure);
  }
  for (const Stepped& each : calls) {
    if (each.end() == step + 1)
      failure.watch([&] { each.hierarchy->end(each.turn, each.asked->request.stream); });
  }
}

}  // namespace

AskedList put_in_steps(AskedSpan group, FirstFailure& failure) {
  AskedList others;
  std::vector<Stepped> calls;
  std::size_t end = 0;
  for (const Asked* const asked : group) {
    Hierarchy* const hierarchy = asked->calls->hierarchy();
    if (hierarchy == nullptr || is_message(asked->request)) {
      others.push_back(asked);
      continue;
    }
    failure.watch([&] {
      Hierarchy::Turn turn = hierarchy->begin(asked->request);
      if (turn.steps.empty()) return others.push_back(asked);
      // A call may read what the rank's call before it writes.
      std::size_t first = 0;
      for (const Stepped& before : calls)
        if (before.hierarchy == hierarchy) first = before.end();
      calls.push_back({asked, hierarchy, std::move(turn), first});
      end = std::max(end, calls.back().end());
    });
  }
  FirstFailure of_steps;
  for (std::size_t step = 0; step < end; ++step) put_step(calls, step, of_steps);
  failure.watch([&] {
    try {
      of_steps.rethrow();
    } catch (const std::exception&) {
      for (const Stepped& each : calls) each.hierarchy->rethrow_failure();
      throw;
    }
  });
  return others;
}

}  // namespace rondo::dispatch
