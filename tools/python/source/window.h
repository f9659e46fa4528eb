// Window: Python's one-sided calls.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "rondo/window.h"
#include "tools/python/source/world.h"

namespace rondo_python {

class Window {
 public:
  /// Collective. `array`: this rank's block, which it keeps.
  Window(std::shared_ptr<World> world, const py::object& array);
  /// Waits for nobody: unless it was closed, the peers' calls end with an error.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::size_t bytes(int rank);
  /// Offsets are in elements of the array that is put or got.
  void put(const py::object& array, int peer, std::size_t first, const std::optional<int>& signal);
  py::object get(const py::object& array, int peer, std::size_t first);
  void signal(int peer, int signal);
  void wait_signal(int peer, int signal, std::size_t count);
  bool test_signal(int peer, int signal, std::size_t count);
  void flush(const std::optional<int>& peer);
  void fence();
  void close();
  /// At the end of a `with` block: an exception in it ends the communicator on every rank.
  void leave(bool failed);

 private:
  /// For one thread at a time: a second one gets Error{invalid_usage}.
  class Use {
   public:
    Use(Window& window, const char* call);
    ~Use() { window_.busy_.clear(std::memory_order_release); }  // pairs with the next Use's acquire
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Window& window_;
  };
  /// Throws where it was closed.
  rondo::Window& usable(const char* call);
  /// Makes the call without Python's lock. It can be interrupted.
  template <class Body>
  auto run(Body body);

  std::shared_ptr<World> world_;
  Buffer block_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::optional<rondo::Window> window_{};  ///< empty: closed
};

void define_window(py::module_& module);

}  // namespace rondo_python
