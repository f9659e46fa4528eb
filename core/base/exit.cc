#include "core/base/exit.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <utility>

#include "core/base/awake.h"
#include "core/base/threads.h"

namespace rondo {
namespace {

struct Registered {
  void (*handler)(bool in_order);
  pid_t process;
};

void run_registered(int status, void* argument) {
  const std::unique_ptr<Registered> registered(static_cast<Registered*>(argument));
  if (registered->process != ::getpid()) return;
  try {
    registered->handler(status == 0);
  } catch (...) {
    // The process ends without the handler's work: its peers take it for dead.
  }
}

/// The library that holds the handler stays loaded from here on. on_exit() does not know of
/// unloading, and would jump to where the handler was.
void stay_loaded() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<void*>(run_registered), &found) != 0 && found.dli_fname != nullptr)
    ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

void at_process_exit(void (*handler)(bool in_order)) {
  stay_loaded();
  auto registered = std::make_unique<Registered>(Registered{handler, ::getpid()});
  // on_exit() is glibc's: std::atexit() does not pass the status. If it fails, the handler never
  // runs.
  if (::on_exit(run_registered, registered.get()) == 0) registered.release();
}

void run_for(std::chrono::milliseconds longest, std::size_t count,
             std::function<void(std::size_t)> body) {
  const auto over = std::make_shared<std::promise<void>>();
  const std::future<void> end = over->get_future();
  start_thread([over, count, body = std::move(body)] {
    try {
      run_together(count, body);
    } catch (const std::exception&) {
      // There is no memory for it.
    }
    over->set_value();
  }).detach();
  for (; longest > awake_step; longest -= awake_step)
    if (end.wait_for(awake_step) == std::future_status::ready) return;
  end.wait_for(longest);
}

}  // namespace rondo
