// Threads that the library starts.
#pragma once

#include <signal.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace rondo {

/// Throws Error{system} about a thread that could not be started.
[[noreturn]] void throw_no_thread(const std::system_error& why);

/// While it lives, this thread takes no signals but those that its own instructions raise, nor do the
/// threads that it starts.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A thread that runs `body`, and takes none of the program's signals. Throws Error{system} where
/// the system has none left, and then `body` is gone.
template <class Body>
std::thread start_thread(Body body) {
  const SignalsBlocked quiet;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw_no_thread(error);
  }
}

/// Runs body(0) to body(count - 1), each on a thread of its own, as each may wait for all others.
/// Where one thread cannot be started none of them runs, so no body waits for a missing one.
/// Returns when all have ended: for each its exception, or null. Throws nothing but std::bad_alloc.
std::vector<std::exception_ptr> run_together(std::size_t count,
                                             const std::function<void(std::size_t)>& body);

/// Throws the first of them, if there is one.
void rethrow_first(const std::vector<std::exception_ptr>& failures);

}  // namespace rondo
