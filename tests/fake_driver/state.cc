#include "tests/fake_driver/state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/fake_driver/clock.h"

namespace rondo::test {
namespace {

/// This thread's state as the driver sees it.
struct Caller {
  bool in_host_function = false;
  int mode = 0;  ///< the mode of captures: global
};
Caller& caller() {
  thread_local Caller caller;
  return caller;
}

/// The one thread of all host functions.
class HostThread {
 public:
  HostThread() {
    std::thread([this] { serve(); }).detach();
  }
  void push(Work work) {
    const std::scoped_lock lock(mutex_);
    works_.push(std::move(work));
    changed_.notify_one();
  }

 private:
  void serve() {
    caller().in_host_function = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !works_.empty(); });
      const Work work = std::move(works_.front());
      works_.pop();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::queue<Work> works_{};
};

HostThread& host_thread() {
  static HostThread& thread = *std::make_unique<HostThread>().release();
  return thread;
}

/// Whether it works in a context that has broken: it asks for nothing there, or gives something back,
/// which would go with the context.
bool works_when_broken(std::string_view function) {
  constexpr std::array parts{"CtxG",       "CtxP",    "Device",  "Free",  "Destroy",
                             "Unregister", "Release", "Unmap",   "Close", "UserObject",
                             "PointerGet", "Capture", "Address", "Handle"};
  return std::ranges::any_of(
      parts, [&](const char* part) { return function.find(part) != std::string_view::npos; });
}

/// A program that does this may hang or fail with a real driver.
[[noreturn]] void end_forbidden(const char* function, const char* when) {
  std::fprintf(stderr, "fake driver: %s %s\n", function, when);
  std::abort();
}

/// A failure that a test asked for.
int injected(const char* function) {
  const auto found = state().failures.find(function);
  if (found == state().failures.end()) return cuda::success;
  const int status = found->second;
  state().failures.erase(found);
  return status;
}

}  // namespace

void Token::set() {
  const std::scoped_lock lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

void Token::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return set_; });
}

bool Token::wait_briefly() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return set_; });
}

bool Token::is_set() {
  const std::scoped_lock lock(mutex_);
  return set_;
}

State& state() {
  static State& state = *std::make_unique<State>().release();
  return state;
}

int enter(const char* function, cuda::Context context) {
  spend_call(false);
  const std::scoped_lock lock(state().mutex);
  ++state().calls[function];
  if (state().deadly == function) ::raise(SIGKILL);
  if (caller().in_host_function) end_forbidden(function, "in a host function");
  if (const int status = injected(function)) return status;
  return context == nullptr || works_when_broken(function)
             ? cuda::success
             : context->failure.load(std::memory_order_seq_cst);
}

int wait_in(cuda::Context context, Token& token) {
  while (!token.wait_briefly()) {
    if (context != nullptr && context->failure != 0) return context->failure;
  }
  return cuda::success;
}

int enter_stream(const char* function, cuda::Stream stream, std::unique_lock<std::mutex>& entry) {
  const cuda::Stream real = resolve(stream);
  if (const int status = enter(function, real != nullptr ? real->context : nullptr)) return status;
  spend_call(true);
  std::size_t limit = 0;
  {
    std::unique_lock lock(state().mutex);
    state().freed.wait(lock, [] { return state().waiting_frees == 0; });
    if (real == nullptr || real->capture != nullptr) return cuda::success;
    limit = state().queue_limit;
  }
  if (limit == 0) return cuda::success;
  entry = std::unique_lock(real->context->entrance);
  Queue& queue = *real->queue;
  std::unique_lock lock(queue.mutex);
  queue.room.wait(lock, [&] { return queue.work.size() < limit; });
  return cuda::success;
}

int enter_unsafe(const char* function, cuda::Context context) {
  if (const int status = enter(function, context)) return status;
  if (caller().mode == cuda::capture_relaxed) return cuda::success;
  const std::scoped_lock lock(state().mutex);
  for (const auto& each : state().captures) {
    const auto capture = each.lock();
    if (capture == nullptr || capture->graph == nullptr) continue;
    const bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == cuda::capture_relaxed || (capture->mode != 0 && !mine)) continue;
    end_forbidden(function, "while a stream is captured");
  }
  return cuda::success;
}

UserObject::~UserObject() {
  const bool before = std::exchange(caller().in_host_function, true);
  destroy_(data_);
  caller().in_host_function = before;
}

void run_host_function(cuda::HostFunction function, void* data) {
  const auto end = std::make_shared<Token>();
  host_thread().push([=] {
    function(data);
    end->set();
  });
  end->wait();
}

}  // namespace rondo::test

using namespace rondo::test;

extern "C" {

int cuGetErrorName(int /*status*/, const char** name) {
  *name = "FAKE_ERROR";
  return rondo::cuda::success;
}

int cuDriverGetVersion(int* version) {
  *version = driver_version();
  return rondo::cuda::success;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, caller().mode);
  return rondo::cuda::success;
}

void fake_fail_next(const char* function, int status) {
  const std::scoped_lock lock(state().mutex);
  state().failures[function] = status;
}

void fake_die_in(const char* function) {
  const std::scoped_lock lock(state().mutex);
  state().deadly = function;
}

void fake_limit_queues(std::size_t entries) {
  const std::scoped_lock lock(state().mutex);
  state().queue_limit = entries;
  state().longest_queue = 0;
}

std::size_t fake_longest_queue() {
  const std::scoped_lock lock(state().mutex);
  return state().longest_queue;
}

int fake_calls(const char* function) {
  const std::scoped_lock lock(state().mutex);
  return state().calls[function];
}
}
