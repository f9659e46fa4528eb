#include "tools/python/source/window.h"

#include <utility>

#include "tools/python/source/documents.h"
#include "tools/python/source/interrupt.h"

namespace rondo_python {

using namespace py::literals;

Window::Window(std::shared_ptr<World> world, const py::object& array)
    : world_(std::move(world)), block_(array, Buffer::Use::write, "Window") {
  World::Use use(*world_, "Window");
  const std::size_t bytes = block_.elements() * block_.element().bytes;
  const Interruptible interruptible(world_->communicator());
  waiting([&] { window_.emplace(use.communicator(), block_.data(), bytes); });
}

Window::~Window() {
  const Unlocked unlocked;
  if (window_) window_->abort("a Window was dropped that was not closed");
  window_.reset();
}

Window::Use::Use(Window& window, const char* call) : window_(window) {
  if (window.busy_.test_and_set(std::memory_order_acquire))  // pairs with ~Use()
    throw rondo::Error(
        rondo::ErrorCode::invalid_usage, "another thread is inside a call on this window",
        {.rank = window.world_->place().rank, .call = call, .remedy = "a window for each thread"});
}

rondo::Window& Window::usable(const char* call) {
  if (window_) return *window_;
  throw rondo::Error(rondo::ErrorCode::invalid_usage, "this window was closed",
                     {.rank = world_->place().rank, .call = call, .remedy = "make a new one"});
}

template <class Body>
auto Window::run(Body body) {
  const Interruptible interruptible(world_->communicator());
  heed_signals();
  if constexpr (std::is_void_v<decltype(body())>) {
    waiting(body);
  } else {
    decltype(body()) result{};
    waiting([&] { result = body(); });
    return result;
  }
}

std::size_t Window::bytes(int rank) {
  const Use use(*this, "bytes");
  return usable("bytes").bytes(rank);
}

void Window::put(const py::object& array, int peer, std::size_t first,
                 const std::optional<int>& signal) {
  const Use use(*this, "put");
  rondo::Window& window = usable("put");
  const Buffer source(array, Buffer::Use::read, "put");
  const std::size_t element = source.element().bytes;
  const std::size_t bytes = source.elements() * element;
  run([&] {
    if (signal) {
      window.put_signal(source.data(), bytes, peer, first * element, *signal);
    } else {
      window.put(source.data(), bytes, peer, first * element);
    }
  });
}

py::object Window::get(const py::object& array, int peer, std::size_t first) {
  const Use use(*this, "get");
  rondo::Window& window = usable("get");
  const Buffer into(array, Buffer::Use::write, "get");
  const std::size_t element = into.element().bytes;
  run([&] { window.get(into.data(), into.elements() * element, peer, first * element); });
  return array;
}

void Window::signal(int peer, int signal) {
  const Use use(*this, "signal");
  rondo::Window& window = usable("signal");
  run([&] { window.signal(peer, signal); });
}
void Window::wait_signal(int peer, int signal, std::size_t count) {
  const Use use(*this, "wait_signal");
  rondo::Window& window = usable("wait_signal");
  run([&] { window.wait_signal(peer, signal, count); });
}
bool Window::test_signal(int peer, int signal, std::size_t count) {
  const Use use(*this, "test_signal");
  rondo::Window& window = usable("test_signal");
  return run([&] { return window.test_signal(peer, signal, count); });
}
void Window::flush(const std::optional<int>& peer) {
  const Use use(*this, "flush");
  rondo::Window& window = usable("flush");
  run([&] { peer ? window.flush(*peer) : window.flush(); });
}
void Window::fence() {
  const Use use(*this, "fence");
  rondo::Window& window = usable("fence");
  run([&] { window.fence(); });
}
void Window::close() {
  const Use use(*this, "close");
  if (!window_) return;
  run([&] { window_->close(); });
  window_.reset();
}

void Window::leave(bool failed) {
  if (!failed) return close();
  world_->abort("by an exception");
}

void define_window(py::module_& module) {
  py::class_<Window, std::shared_ptr<Window>>(module, "Window", documents::window)
      .def(py::init<std::shared_ptr<World>, const py::object&>(), "communicator"_a, "array"_a)
      .def("bytes", &Window::bytes, "rank"_a, "The size of a rank's block.")
      .def("put", &Window::put, "array"_a, "peer"_a, "first"_a = 0, "signal"_a = py::none(),
           documents::put)
      .def("get", &Window::get, "array"_a, "peer"_a, "first"_a = 0, documents::get)
      .def("signal", &Window::signal, "peer"_a, "signal"_a = 0, documents::signal)
      .def("wait_signal", &Window::wait_signal, "peer"_a, "signal"_a = 0, "count"_a = 1,
           documents::wait_signal)
      .def("test_signal", &Window::test_signal, "peer"_a, "signal"_a = 0, "count"_a = 1,
           "Takes them if they have come, and returns True; else False.")
      .def("flush", &Window::flush, "peer"_a = py::none(), documents::flush)
      .def("fence", &Window::fence, "Collective: flush() on every rank, and a barrier.")
      .def("close", &Window::close, documents::close)
      .def("__enter__", [](std::shared_ptr<Window> self) { return self; })
      .def("__exit__", [](Window& self, const py::object& kind, const py::object&,
                          const py::object&) { self.leave(!kind.is_none()); });
}

}  // namespace rondo_python
