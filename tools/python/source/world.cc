#include "tools/python/source/world.h"

#include <deque>
#include <utility>

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

/// Without Python's lock; a KeyboardInterrupt comes before the error that it caused.
template <class Body>
void waiting(const Body& body) {
  try {
    const py::gil_scoped_release unlocked;
    body();
  } catch (const rondo::Error&) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    throw;
  }
}

/// Ends the group as an exception of C++ does: what it began is aborted.
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

}  // namespace

World::World(rondo::Communicator communicator)
    : communicator_(std::move(communicator)),
      place_{.rank = communicator_.rank(), .ranks = communicator_.size()} {
  watch_interrupts();
}

World::~World() {
  const py::gil_scoped_release unlocked;
  try {
    communicator_.finalize();  // then nobody writes to the arrays of pending_ any more
  } catch (const rondo::Error&) {
    // Its calls have failed and have said so; what is left here is to leave.
  }
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
  Use use(*this, rondo::name(request.call.collective).data());
  waiting([&] {
    const Interruptible interruptible(use.communicator());
    make(use.communicator(), request.call);
  });
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
    const py::gil_scoped_release unlocked;
    pending->work = begin(use.communicator(), request.call);
  }
  pending_.push_back(pending);
  // The work holds this only until it has called it.
  pending->work.when_complete([pending = pending.get()] {
    pending->over.store(true, std::memory_order_release);  // pairs with forget_completed()
  });
  return pending;
}

std::shared_ptr<World> World::split(int color, int key) {
  rondo::Communicator part;
  waiting([&] {
    Use use(*this, "split");
    const Interruptible interruptible(use.communicator());
    part = use.communicator().split(color, key);
  });
  return part ? std::make_shared<World>(std::move(part)) : nullptr;
}

std::shared_ptr<World> World::dup() {
  rondo::Communicator copy;
  waiting([&] {
    Use use(*this, "dup");
    const Interruptible interruptible(use.communicator());
    copy = use.communicator().dup();
  });
  return std::make_shared<World>(std::move(copy));
}

void World::abort(const std::string& reason) {
  const py::gil_scoped_release unlocked;
  communicator_.abort(reason);
}

void World::finalize() {
  waiting([&] {
    Use use(*this, "finalize");
    const Interruptible interruptible(use.communicator());
    use.communicator().finalize();
  });
  pending_.clear();
}

py::object wait(Pending& pending) {
  const std::shared_ptr<World> world = pending.world.lock();
  waiting([&] {
    std::optional<Interruptible> interruptible;
    if (world) interruptible.emplace(world->communicator());
    pending.work.wait();
  });
  pending.buffers.clear();
  return pending.result;
}

bool test(Pending& pending) {
  const py::gil_scoped_release unlocked;
  return pending.work.test();
}

void Group::enter() {
  if (group_)
    throw rondo::Error(rondo::ErrorCode::invalid_usage, "this group has been entered already",
                       {.call = "group", .remedy = "with rondo.group(): for each"});
  group_.emplace();
  ++kept_by_this_thread().groups;
}

void Group::exit(bool failed) {
  Kept& kept = kept_by_this_thread();
  const bool outermost = --kept.groups == 0;
  const auto clear = [&] {
    group_.reset();
    if (outermost) kept.clear();
  };
  try {
    waiting([&] {
      std::deque<Interruptible> interruptible;
      for (const auto& world : kept.worlds) interruptible.emplace_back(world->communicator());
      if (failed)
        give_up(group_);
      else
        group_->wait();
      while (!interruptible.empty()) interruptible.pop_back();  // the innermost first
    });
  } catch (...) {
    clear();
    throw;
  }
  clear();
}

}  // namespace rondo_python
