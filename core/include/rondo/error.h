// The one exception rondo throws: who, what, in which call, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace rondo {

enum class ErrorCode {
  invalid_argument,  ///< an argument of a call or an option is wrong
  invalid_usage,     ///< a right call at a wrong time (after abort, inside another thread's call)
  configuration,     ///< an environment variable or a combination of settings is wrong
  bootstrap,         ///< the ranks could not meet: missing, duplicate or stray rank, port in use
  mismatch,          ///< ranks disagree on the call: collective, count, type, operator or root
  peer_lost,         ///< a peer died or closed its connection
  timeout,           ///< a peer stayed silent past the deadline
  aborted,           ///< the communicator was aborted
  out_of_memory,     ///< memory for channels or scratch could not be had
  system,            ///< a system call failed
  internal,          ///< a bug in rondo
};

std::string_view name(ErrorCode code);

/// The parts of an error. Unknown parts stay at their defaults and are left out of the text.
struct ErrorDetails {
  int rank = -1;       ///< the rank that reports
  int peer = -1;       ///< the rank it is about
  std::string call{};  ///< e.g. "all_reduce #12 (1024 x float32, sum)"
  std::string remedy{};
};

/// what() reads "rondo: rank 1: <message> [peer rank 3] [in <call>]. Try: <remedy>".
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
