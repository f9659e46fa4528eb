#include "tools/python/source/world.h"

#include <deque>
#include <span>
#include <utility>

#include "rondo/quantized.h"
#include "tools/python/source/interrupt.h"

namespace rondo_python {
namespace {

/// The arrays of calls in this thread's open groups.
struct Kept {
  int groups = 0;
  std::vector<Buffer> buffers{};
  std::vector<std::shared_ptr<World>> worlds{};

  void clear() {
    buffers.clear();
    worlds.clear();
  }
};

Kept& kept_by_this_thread() {
  thread_local Kept kept;  // empty again before the thread ends, as groups are
  return kept;
}

/// Whether Python is ending and destroys its objects, because the program is over or has failed.
bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Has an Interruptible for each communicator of a group.
class InterruptibleGroup {
 public:
  explicit InterruptibleGroup(const std::vector<std::shared_ptr<World>>& worlds) {
    for (const auto& world : worlds) calls_.emplace_back(world->communicator());
  }
  ~InterruptibleGroup() {
    while (!calls_.empty()) calls_.pop_back();  // the innermost first
  }
  InterruptibleGroup(const InterruptibleGroup&) = delete;
  InterruptibleGroup& operator=(const InterruptibleGroup&) = delete;

 private:
  std::deque<Interruptible> calls_{};
};

/// Ends the group as a C++ exception would: its calls are aborted.
void give_up(std::optional<rondo::Group>& group) {
  struct Failed {};
  struct Leaving {
    std::optional<rondo::Group>& group;
    ~Leaving() { group.reset(); }
  };
  try {
    const Leaving leaving{group};
    throw Failed{};  // rondo::Group looks whether an exception is on its way
  } catch (const Failed&) {
  }
}

std::span<float> floats_of(const Buffer& array, const char* call) {
  const auto [type, bytes, boolean, complex] = array.element();
  if (type == rondo::DataType::float32 && !complex)
    return {static_cast<float*>(array.data()), array.elements()};
  const std::string kind = complex ? "complex" : type ? std::string(rondo::name(*type)) : "others";
  refuse(call, "the elements are " + kind + ", not float32", "a copy of the array as float32");
}

}  // namespace

World::World(rondo::Communicator communicator)
    : communicator_(std::move(communicator)),
      place_{.rank = communicator_.rank(), .ranks = communicator_.size()} {
  watch_interrupts();
}

World::~World() {
  // Python ends and finalize() was not called. Is that an orderly end, or a failure that the peers
  // must hear of? The handler at the process's end knows, and acts.
  if (interpreter_ends()) {
    leave_to_process_end();
    return;
  }
  const Unlocked unlocked;
  const Interruptible interruptible(communicator_);
  try {
    communicator_.finalize();  // then nobody writes to the arrays of pending_ any more
  } catch (const rondo::Error&) {
    // Its calls have raised their errors before; or they differ from the other ranks' calls, which
    // raise errors there. Here nothing is left to do but leave.
  }
}

/// Never destroyed: calls under way write to the arrays until the process has ended.
void World::leave_to_process_end() {
  static_cast<void>(std::make_unique<rondo::Communicator>(std::move(communicator_)).release());
  static_cast<void>(std::make_unique<Started>(std::move(pending_)).release());
}

World::Use::Use(World& world, const char* call) : world_(world) {
  if (world.busy_.test_and_set(std::memory_order_acquire))  // pairs with ~Use()
    throw rondo::Error(rondo::ErrorCode::invalid_usage,
                       "another thread is inside a call on this communicator",
                       {.rank = world.place_.rank,
                        .call = call,
                        .remedy = "a communicator for each thread: dup() before they start"});
}

void World::forget_completed() {
  std::erase_if(pending_, [](const std::shared_ptr<Pending>& one) {
    return one->over.load(std::memory_order_acquire);  // pairs with the notice in start()
  });
}

py::object World::run(Request request) {
  const Interruptible interruptible(communicator_);
  heed_signals();
  Use use(*this, rondo::name(request.call.collective).data());
  waiting([&] { make(use.communicator(), request.call); });
  Kept& kept = kept_by_this_thread();
  if (kept.groups > 0) {
    for (Buffer& buffer : request.buffers) kept.buffers.push_back(std::move(buffer));
    kept.worlds.push_back(shared_from_this());
  }
  return std::move(request.result);
}

std::shared_ptr<Pending> World::start(Request request) {
  forget_completed();
  auto pending = std::make_shared<Pending>();
  pending->world = weak_from_this();
  pending->buffers = std::move(request.buffers);
  pending->result = std::move(request.result);
  {
    Use use(*this, rondo::name(request.call.collective).data());
    const Unlocked unlocked;
    pending->work = begin(use.communicator(), request.call);
  }
  pending_.push_back(pending);
  // The work drops this function after it has called it.
  pending->work.when_complete([pending = pending.get()] {
    pending->over.store(true, std::memory_order_release);  // pairs with forget_completed()
  });
  return pending;
}

template <class Body>
auto World::together(const char* call, Body body) {
  const Interruptible interruptible(communicator_);
  heed_signals();
  Use use(*this, call);
  decltype(body(use.communicator())) result{};
  waiting([&] { result = body(use.communicator()); });
  return result;
}

py::object World::all_reduce_quantized(const py::object& array, const py::object& left_out) {
  constexpr const char* call = "all_reduce_quantized";
  const Buffer values(array, Buffer::Use::write, call);
  std::optional<Buffer> rest;
  if (!left_out.is_none()) rest.emplace(left_out, Buffer::Use::write, call);
  const std::span<float> sums = floats_of(values, call);
  const std::span<float> kept = rest ? floats_of(*rest, call) : std::span<float>();
  together(call, [&](auto& all) {
    rondo::all_reduce_quantized(all, sums, kept);
    return true;
  });
  return array;
}

std::shared_ptr<World> World::split(int color, int key) {
  auto part = together("split", [&](auto& all) { return all.split(color, key); });
  return part ? std::make_shared<World>(std::move(part)) : nullptr;
}

std::shared_ptr<World> World::dup() {
  return std::make_shared<World>(together("dup", [](auto& all) { return all.dup(); }));
}

rondo::Agreed World::agree(std::uint64_t flags) {
  return together("agree", [&](auto& all) { return all.agree(flags); });
}

std::shared_ptr<World> World::shrink() {
  return std::make_shared<World>(together("shrink", [](auto& all) { return all.shrink(); }));
}

std::shared_ptr<World> World::grow(int ranks, const std::optional<rondo::UniqueId>& id) {
  return std::make_shared<World>(together("grow", [&](auto& all) { return all.grow(ranks, id); }));
}

void World::abort(const std::string& reason) {
  const Unlocked unlocked;
  communicator_.abort(reason);
}

void World::finalize() {
  const Interruptible interruptible(communicator_);
  heed_signals();
  Use use(*this, "finalize");
  waiting([&] { use.communicator().finalize(); });
  pending_.clear();
}

py::object wait(Pending& pending) {
  const std::shared_ptr<World> world = pending.world.lock();
  std::optional<Interruptible> interruptible;
  if (world) interruptible.emplace(world->communicator());
  heed_signals();
  waiting([&] { pending.work.wait(); });
  pending.buffers.clear();
  return pending.result;
}

bool test(Pending& pending) {
  const Unlocked unlocked;
  return pending.work.test();
}

void Group::enter() {
  if (group_)
    throw rondo::Error(rondo::ErrorCode::invalid_usage, "this group has been entered already",
                       {.call = "group", .remedy = "with rondo.group(): for each"});
  group_.emplace();
  entered_by_ = std::this_thread::get_id();
  ++kept_by_this_thread().groups;
}

void Group::exit(bool failed) {
  if (!group_ || entered_by_ != std::this_thread::get_id())
    throw rondo::Error(
        rondo::ErrorCode::invalid_usage, "this thread has not entered this group",
        {.call = "group", .remedy = "with rondo.group(): leave it where it was entered"});
  Kept& kept = kept_by_this_thread();
  const bool outermost = --kept.groups == 0;
  const auto end = [&](bool in_order) {
    const InterruptibleGroup interruptible(kept.worlds);
    heed_signals();
    waiting([&] { in_order ? group_->wait() : give_up(group_); });
  };
  const auto clear = [&] {
    {
      const Unlocked unlocked;
      give_up(group_);  // does nothing where it has ended: not where a Ctrl-C came before
    }
    if (outermost) kept.clear();
  };
  try {
    end(!failed);
  } catch (...) {
    clear();
    throw;
  }
  clear();
}

}  // namespace rondo_python
