// rondo/window.h's Window: hands its calls on.
#include "rondo/window.h"

#include <exception>
#include <string>

#include "core/base/log.h"
#include "core/communicator/access.h"
#include "core/communicator/one_sided.h"

namespace rondo {

using detail::CommunicatorAccess;
using detail::CommunicatorState;

Window::Window(Communicator& world, void* memory, std::size_t bytes)
    : exceptions_(std::uncaught_exceptions()) {
  CommunicatorState& parent = detail::usable(CommunicatorAccess::state(world));
  detail::OneSided::check_block(memory, bytes, parent.rank());
  calls_ = detail::OneSided::open(parent.open_part(0, nullptr));
  number_ = calls_->add_window(memory, bytes);
}

Window::~Window() {
  // After a failure there is nothing to wait for. The calls have reported it.
  if (!calls_ || !calls_->state()->is_own() || calls_->state()->failure() || calls_->is_over() ||
      std::uncaught_exceptions() > exceptions_)
    return;
  try {
    calls_->close();
  } catch (const std::exception& error) {
    log(LogLevel::warn, calls_->state()->rank(),
        std::string("while a window ends: ") + error.what());
  }
}

detail::OneSided& Window::usable() const {
  if (calls_) return *calls_;
  throw Error(ErrorCode::invalid_usage, "this Window handle is empty",
              {.remedy = "make it of a communicator and memory"});
}

std::size_t Window::bytes(int rank) const { return usable().bytes_of(number_, rank); }

Traffic Window::traffic() const { return usable().traffic(); }

Work Window::put_async(const void* source, std::size_t bytes, int peer, std::size_t offset) {
  const auto part = usable().put({number_, peer, offset, bytes}, source, std::nullopt);
  return part ? CommunicatorAccess::make(calls_->state(), part) : Work();
}

void Window::put(const void* source, std::size_t bytes, int peer, std::size_t offset) {
  usable().finish(calls_->put({number_, peer, offset, bytes}, source, std::nullopt), peer);
}

void Window::put_signal(const void* source, std::size_t bytes, int peer, std::size_t offset,
                        int signal) {
  usable().finish(calls_->put({number_, peer, offset, bytes}, source, signal), peer);
}

Work Window::get_async(void* destination, std::size_t bytes, int peer, std::size_t offset) {
  const auto part = usable().get({number_, peer, offset, bytes}, destination);
  return part ? CommunicatorAccess::make(calls_->state(), part) : Work();
}

void Window::get(void* destination, std::size_t bytes, int peer, std::size_t offset) {
  get_async(destination, bytes, peer, offset).wait();
}

void Window::signal(int peer, int signal) { usable().signal(peer, signal); }
void Window::wait_signal(int peer, int signal, std::size_t count) {
  usable().wait_signal(peer, signal, count);
}
std::size_t Window::wait_any(std::span<const Signal> wanted) { return usable().wait_any(wanted); }
bool Window::test_signal(int peer, int signal, std::size_t count) {
  return usable().test_signal(peer, signal, count);
}
void Window::flush(int peer) { usable().flush(peer); }
void Window::flush() { usable().flush(); }
void Window::fence() { usable().fence(); }
void Window::close() { usable().close(); }
void Window::abort(const std::string& reason) noexcept {
  if (calls_) calls_->state()->abort(reason);
}

}  // namespace rondo
