#include "core/base/threads.h"

#include <future>
#include <string>

#include "rondo/error.h"

namespace rondo {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  // What a thread does itself: its handlers must run.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) ::sigdelset(&all, own);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void throw_no_thread(const std::system_error& why) {
  throw Error(ErrorCode::system, std::string("no thread could be started: ") + why.what(),
              {.remedy = "raise the limit of threads (ulimit -u, pids.max of the container), or of "
                         "memory"});
}

std::vector<std::exception_ptr> run_together(std::size_t count,
                                             const std::function<void(std::size_t)>& body) {
  std::vector<std::exception_ptr> failures(count);
  std::promise<void> all;
  const std::shared_future<void> all_are_there = all.get_future().share();
  std::vector<std::thread> threads;
  threads.reserve(count);  // or a thread could be lost
  const auto run = [&](std::size_t number, const std::shared_future<void>& begin) {
    try {
      begin.get();
      body(number);
    } catch (...) {
      failures[number] = std::current_exception();
    }
  };
  try {
    for (std::size_t i = 0; i < count; ++i)
      threads.push_back(start_thread([&run, i, all_are_there] { run(i, all_are_there); }));
    all.set_value();
  } catch (...) {
    failures.assign(count, std::current_exception());  // also for the threads that are missing
    all.set_exception(std::current_exception());
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

void rethrow_first(const std::vector<std::exception_ptr>& failures) {
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace rondo
