#include "core/dispatch/hierarchy.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/communicator/lifetime.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/direct_device/staging_heap.h"
#include "core/dispatch/dispatch.h"
#include "core/stream/buffers.h"

namespace rondo::dispatch {

/// What a rank's steps need, of its context. Goes with the last part, perhaps on a thread of its own.
class Hierarchy::Memory {
 public:
  explicit Memory(cuda::SharedContext context)
      : held_(std::make_shared<Held>(std::move(context))) {}
  ~Memory() {
    if (!is_used_) return;
    // Streams end in their own time: not on the thread of a program that may hold them up.
    try {
      start_thread([held = held_] { held->finish(); }).detach();
    } catch (const std::exception&) {
      held_->finish();
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  cuda::Context context() const { return held_->context.get(); }
  /// Of calls in steps.
  stream::Orders& orders() const { return *held_->orders; }
  Scratch scratch() const {
    return {reinterpret_cast<std::byte*>(held_->scratch),
            scratch_bytes,
            {.on_device = true, .device = held_->device}};
  }
  std::uint32_t* word() const { return reinterpret_cast<std::uint32_t*>(held_->word->data()); }
  /// What is in the stream is a whole call. The stream writes the number into the word; 0: not.
  void end(std::uint64_t number, cuda::Stream stream) {
    is_used_ = true;
    if (number != 0)
      cuda::write_value(held_->word->device_address(word()), static_cast<unsigned>(number), stream);
    orders().record(stream, cuda::capture_of(stream));
  }
  /// Returns when no stream uses it any more.
  void finish() {
    orders().finish();
    is_used_ = false;
  }

 private:
  struct Held {
    explicit Held(cuda::SharedContext of) : context(std::move(of)) {
      const cuda::CurrentContext current(context.get());
      device = cuda::current_device();
      orders.emplace(context.get());
      stream = cuda::make_stream();
      cuda::check(cuda::driver().mem_alloc(&scratch, scratch_bytes), "cuMemAlloc");
      try {
        word.emplace(sizeof(std::uint32_t));
      } catch (...) {
        cuda::driver().mem_free(scratch);
        throw;
      }
    }
    ~Held() {
      try {
        const cuda::CurrentContext current(context.get());
        cuda::give_back(scratch, stream.get());
        orders->close();
        word.reset();
        stream.reset();
      } catch (const std::exception& error) {
        log(LogLevel::info, -1, std::string("while giving memory of steps back: ") + error.what(),
            LogSubsystem::destroy);
        orders->abandon();  // gone with the context, as the stream is
        static_cast<void>(stream.release());
      }
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void finish() const noexcept {
      try {
        orders->finish();
      } catch (const std::exception&) {
        // The context is gone, and its streams.
      }
    }

    const cuda::SharedContext context;
    int device = 0;
    std::optional<cuda::PinnedMemory> word{};
    std::optional<stream::Orders> orders{};
    cuda::OwnedStream stream{};
    cuda::DevicePointer scratch = 0;
  };

  const std::shared_ptr<Held> held_;
  bool is_used_ = false;  ///< of the thread that makes calls, then of the last owner
};

Hierarchy::Hierarchy(State state, std::shared_ptr<Memory> memory, Place place)
    : state_(std::move(state)),
      memory_(std::move(memory)),
      place_(place),
      whole_(state_->as_whole(std::shared_ptr<std::uint32_t>(memory_, memory_->word()))) {}

std::unique_ptr<Hierarchy> Hierarchy::make(const State& state, const cuda::SharedContext& context) {
  const std::optional<Place> place = place_of(state->topology(), state->rank());
  if (!place) return nullptr;
  const auto agree = [&](const std::string& obstacle) {
    const std::string first = direct_device::first_said(state->exchange(obstacle));
    if (!first.empty())
      log(LogLevel::info, state->rank(), "GPU buffers make no steps by hosts: " + first,
          LogSubsystem::p2p);
    return first.empty();
  };
  std::shared_ptr<Memory> memory;
  std::string obstacle = state->config().peer_to_peer ? "" : "RONDO_P2P_DISABLE=1";
  try {
    if (context == nullptr) throw Error(ErrorCode::system, "no CUDA device was current");
    if (obstacle.empty()) memory = std::make_shared<Memory>(context);
  } catch (const Error& error) {
    obstacle = error.message();
  }
  if (!agree(obstacle)) return nullptr;
  std::unique_ptr<Hierarchy> made(new Hierarchy(state, std::move(memory), *place));
  if (!agree(made->open_parts(context))) return nullptr;
  log(LogLevel::info, state->rank(),
      "large collectives on GPU buffers go in steps: from GPU to GPU inside " +
          std::to_string(place->hosts) + " hosts, and a part of each across",
      LogSubsystem::p2p);
  return made;
}

std::string Hierarchy::open_parts(const cuda::SharedContext& context) {
  inside_ = std::make_shared<RankCalls>(context, true);
  across_ = std::make_shared<RankCalls>(context, false);
  inside_->prepare(state_->open_part(place_.host, whole_));
  across_->prepare(state_->open_part(place_.index, whole_));
  const direct_device::DeviceCalls* const device = inside_->between_devices();
  if (device == nullptr) return "GPUs of its host do not reach each other";
  if (!across_->has_through_host()) return "there is no pinned memory";
  return device->reduces() ? "" : "there are no kernels for reductions";
}

Hierarchy::~Hierarchy() = default;

stream::Orders& Hierarchy::orders() const { return memory_->orders(); }

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
  }
  const bool captured = call.on_devices && is_captured(request.stream);
  if (call.on_devices) turn.traced.add(*state_, request, trace::Way::hierarchical, captured);
  const bool writes = call.on_devices && !captured;
  const std::uint64_t number = whole_->begin(call, writes);
  if (writes) turn.number = number;
  return turn;
}

void Hierarchy::enter(const Turn& turn, cuda::Stream stream) const {
  const cuda::CurrentContext current(memory_->context());
  memory_->orders().follow(stream, cuda::capture_of(stream));
  turn.traced.begin(stream);
}

void Hierarchy::copy(const Step& step, cuda::Stream stream) const {
  if (step.copies.empty()) return;
  const cuda::CurrentContext current(memory_->context());
  cuda::Work work{.how = {.type = DataType::uint8}, .count = step.copies.front().bytes};
  for (const DeviceCopy& each : step.copies) {
    work.pointers.push_back(each.from);
    work.pointers.push_back(each.to);
  }
  cuda::Kernels::of(memory_->context()).run(work, stream);  // one launch for many copies
}

void Hierarchy::end(const Turn& turn, cuda::Stream stream) const {
  const cuda::CurrentContext current(memory_->context());
  turn.traced.end(stream);
  memory_->end(turn.number, stream);
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
  whole_->compare();
  rethrow_failure();
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

/// A collective of one rank, and the position of its first step among those of the group. Without
/// steps it takes another path, in one position.
struct Positioned {
  const Asked* asked;
  const Hierarchy* hierarchy;
  Hierarchy::Turn turn;
  std::size_t first;

  std::size_t end() const { return first + std::max<std::size_t>(1, turn.steps.size()); }
  bool is_at(std::size_t position) const { return position >= first && position < end(); }
  const Step* step(std::size_t position) const {
    return turn.steps.empty() ? nullptr : &turn.steps[position - first];
  }
};

void add(RankCalls& part, const std::vector<stream::Request>& requests, std::vector<Asked>& to) {
  for (const stream::Request& request : requests)
    to.push_back({.calls = &part, .request = request, .in_order = true});
}

void put(const std::vector<Asked>& group, FirstFailure& failure) {
  AskedList asked;
  for (const Asked& each : group) asked.push_back(&each);
  put_group(asked, failure);
}

/// Returns calls that need no stream's order.
AskedList put_at(const std::vector<Positioned>& calls, std::size_t position,
                 FirstFailure& failure) {
  std::vector<Asked> inside;
  std::vector<Asked> across;
  AskedList whole;
  for (const Positioned& each : calls) {
    if (!each.is_at(position)) continue;
    const Step* const step = each.step(position);
    if (step == nullptr) {
      whole.push_back(each.asked);
      continue;
    }
    const cuda::Stream stream = each.asked->request.stream;
    failure.watch([&] {
      if (position == each.first) each.hierarchy->enter(each.turn, stream);
      each.hierarchy->copy(*step, stream);
    });
    add(each.hierarchy->inside(), step->inside, inside);
    add(each.hierarchy->across(), step->across, across);
  }
  put(inside, failure);
  put(across, failure);
  for (const Positioned& each : calls) {
    if (each.end() == position + 1 && each.step(position) != nullptr)
      failure.watch([&] { each.hierarchy->end(each.turn, each.asked->request.stream); });
  }
  return put_through_host(whole, failure);
}

/// Calls of communicators that make none of the group in steps leave `calls`.
AskedList take_others(std::vector<Positioned>& calls) {
  std::set<const Hierarchy*> in_steps;
  for (const Positioned& each : calls)
    if (!each.turn.steps.empty()) in_steps.insert(each.hierarchy);
  AskedList others;
  std::erase_if(calls, [&](const Positioned& each) {
    const bool is_other = !in_steps.contains(each.hierarchy);
    if (is_other) others.push_back(each.asked);
    return is_other;
  });
  return others;
}

}  // namespace

AskedList put_in_steps(AskedSpan group, FirstFailure& failure) {
  AskedList others;
  std::vector<Positioned> calls;
  for (const Asked* const asked : group) {
    Hierarchy* const hierarchy = asked->calls->hierarchy();
    if (hierarchy == nullptr || is_message(asked->request)) {
      others.push_back(asked);
      continue;
    }
    failure.watch([&] {
      Hierarchy::Turn turn = hierarchy->begin(asked->request);
      // A call may read what the rank's call before it writes.
      std::size_t first = 0;
      for (const Positioned& before : calls)
        if (before.hierarchy == hierarchy) first = before.end();
      calls.push_back({asked, hierarchy, std::move(turn), first});
    });
  }
  std::ranges::copy(take_others(calls), std::back_inserter(others));
  std::size_t end = 0;
  for (const Positioned& each : calls) end = std::max(end, each.end());
  FirstFailure of_steps;
  for (std::size_t position = 0; position < end; ++position)
    std::ranges::copy(put_at(calls, position, of_steps), std::back_inserter(others));
  failure.watch([&] {
    try {
      of_steps.rethrow();
    } catch (const std::exception&) {
      for (const Positioned& each : calls) each.hierarchy->rethrow_failure();
      throw;
    }
  });
  return others;
}

}  // namespace rondo::dispatch
