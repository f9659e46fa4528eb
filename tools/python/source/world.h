// World: Python's communicator. Pending: the object that its asynchronous calls return.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/python/source/request.h"

namespace rondo_python {

class World;

/// Asynchronous work with the arrays it uses. Made and destroyed while holding Python's lock.
struct Pending {
  std::weak_ptr<World> world{};
  rondo::Work work{};
  std::vector<Buffer> buffers{};
  py::object result = py::none();
  /// Set by the thread that completes the work (release), read while holding Python's lock
  /// (acquire). Once it is set, nothing writes to the buffers.
  std::atomic<bool> over{false};
};

class World : public std::enable_shared_from_this<World> {
 public:
  explicit World(rondo::Communicator communicator);
  /// Leaves without throwing. Waits for outstanding work, unless Python is ending.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Place place() const { return place_; }
  /// The communicator, for one thread at a time: a second one gets Error{invalid_usage}.
  class Use {
   public:
    Use(World& world, const char* call);
    ~Use() { world_.busy_.clear(std::memory_order_release); }  // pairs with the next Use's acquire
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    rondo::Communicator& communicator() { return world_.communicator_; }

   private:
    World& world_;
  };

  /// Makes the call without Python's lock. Inside a Group its arrays are kept until the group ends.
  py::object run(Request request);
  std::shared_ptr<Pending> start(Request request);
  /// In place. Both are arrays of float32; left_out may be None. Returns `array`.
  py::object all_reduce_quantized(const py::object& array, const py::object& left_out);
  std::shared_ptr<World> split(int color, int key);
  std::shared_ptr<World> dup();
  rondo::Agreed agree(std::uint64_t flags);
  std::shared_ptr<World> shrink();
  std::shared_ptr<World> grow(int ranks, const std::optional<rondo::UniqueId>& id);
  void abort(const std::string& reason);
  void finalize();
  /// For calls that any thread may make, and for callers that hold a Use.
  rondo::Communicator& communicator() { return communicator_; }

 private:
  using Started = std::vector<std::shared_ptr<Pending>>;

  /// Runs a collective part of the interface, which can be interrupted, and returns what it returns.
  template <class Body>
  auto together(const char* call, Body body);
  void forget_completed();
  void leave_to_process_end();

  rondo::Communicator communicator_;
  Place place_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Started pending_{};  ///< under Python's lock
};

/// Work.wait(): returns the call's result, throws its error.
py::object wait(Pending& pending);
bool test(Pending& pending);

/// `with rondo.group():` on the thread that entered it.
class Group {
 public:
  void enter();
  /// After an exception in the block the communicators of its calls are aborted.
  void exit(bool failed);

 private:
  std::optional<rondo::Group> group_{};
  std::thread::id entered_by_{};
};

}  // namespace rondo_python
