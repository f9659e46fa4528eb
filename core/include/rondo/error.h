// The one exception that rondo throws. It says which rank failed, why, in which call, and what to
// do about it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace rondo {

enum class ErrorCode {
  invalid_argument,  ///< an argument of a call or an option is wrong
  invalid_usage,     ///< a call at the wrong time: after abort, during another thread's call ...
  configuration,     ///< an environment variable or a combination of settings is wrong
  bootstrap,         ///< the ranks could not connect: a missing or duplicate rank, a port in use
  mismatch,          ///< ranks disagree on the call: collective, count, type, operator or root
  peer_lost,         ///< a peer died or closed its connection
  timeout,           ///< a peer stayed silent past the deadline
  aborted,           ///< the communicator was aborted
  out_of_memory,     ///< no memory for channels or scratch
  system,            ///< a system call failed, or data changed on its way between ranks
  internal,          ///< a bug in rondo
};

std::string_view name(ErrorCode code);

/// The parts of an error. The text leaves out parts that are unknown, which have their defaults.
struct ErrorDetails {
  int rank = -1;       ///< the rank that reports
  int peer = -1;       ///< the rank it is about
  std::string call{};  ///< e.g. "all_reduce #12 (1024 x float32, sum)"
  std::string remedy{};
};

/// what() reads "rondo: rank 1: MESSAGE [peer rank 3] [in CALL]. Try: REMEDY".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message, ErrorDetails details = {});

  ErrorCode code() const { return code_; }
  int rank() const { return details_.rank; }
  int peer() const { return details_.peer; }
  const std::string& message() const { return message_; }
  const std::string& call() const { return details_.call; }
  const std::string& remedy() const { return details_.remedy; }
  const ErrorDetails& details() const { return details_; }

 private:
  ErrorCode code_;
  std::string message_;
  ErrorDetails details_;
};

}  // namespace rondo
