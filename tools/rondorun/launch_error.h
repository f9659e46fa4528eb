// The error that stops a launch: a text for the user and the exit status.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rondo::launch {

/// Exit statuses of rondorun itself; the last two are the shell's.
inline constexpr int status_failure = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_not_executable = 126;
inline constexpr int status_not_found = 127;
/// A process killed by signal s counts as exit status 128 + s, as in the shell.
inline constexpr int status_signal_base = 128;

class LaunchError : public std::runtime_error {
 public:
  LaunchError(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// For a failed system call; reads errno.
inline LaunchError system_error(const std::string& what) {
  return {status_failure, what + ": " + std::strerror(errno)};
}

}  // namespace rondo::launch
