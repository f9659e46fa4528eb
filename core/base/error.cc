#include "rondo/error.h"

#include <utility>

namespace rondo {
namespace {

std::string text_of(const std::string& message, const ErrorDetails& details) {
  std::string text = "rondo: ";
  if (details.rank >= 0) text += "rank " + std::to_string(details.rank) + ": ";
  text += message;
  if (details.peer >= 0) text += " [peer rank " + std::to_string(details.peer) + "]";
  if (!details.call.empty()) text += " [in " + details.call + "]";
  if (!details.remedy.empty()) text += ". Try: " + details.remedy;
  return text;
}

}  // namespace

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::invalid_usage:
      return "invalid_usage";
    case ErrorCode::configuration:
      return "configuration";
    case ErrorCode::bootstrap:
      return "bootstrap";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::peer_lost:
      return "peer_lost";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::system:
      return "system";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message, ErrorDetails details)
    : std::runtime_error(text_of(message, details)),
      code_(code),
      message_(std::move(message)),
      details_(std::move(details)) {}

}  // namespace rondo
