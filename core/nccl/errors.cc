#include "core/nccl/errors.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "core/base/log.h"
#include "core/communicator/remedies.h"
#include "core/cuda/driver.h"
#include "core/settings/settings.h"

namespace rondo::nccl {
namespace {

/// The C API returns a pointer to the text of the last error, so the text must live somewhere. It
/// is the thread's own: no thread can change it under another one's eyes.
std::string& last_error_text() {
  thread_local std::string text;
  return text;
}

/// Its text, with the remedy in the words of this API where it has its own.
std::string words_of(const Error& error) {
  const auto known = std::ranges::find(remedies::all, error.remedy(), &remedies::Remedy::words);
  if (known == remedies::all.end()) return error.what();
  ErrorDetails details = error.details();
  details.remedy = known->words_of_nccl;
  return Error(error.code(), error.message(), std::move(details)).what();
}

/// Clients take the text for UTF-8, whatever names and bytes of the system's are in it.
std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string printed;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= ' ' && byte < 0x7f) || c == '\n') {
      printed += c;
    } else {
      printed += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return printed;
}

/// ncclTimeout came with 2.30: older clients have no such number.
ncclResult_t timeout_result() {
  constexpr int first_with_timeout = 23000;
  return read_config().nccl_version >= first_with_timeout ? ncclTimeout : ncclRemoteError;
}

}  // namespace

ncclResult_t result_of(const Error& error) {
  if (dynamic_cast<const cuda::CudaError*>(&error) != nullptr) return ncclUnhandledCudaError;
  switch (error.code()) {
    case ErrorCode::invalid_argument:
      return ncclInvalidArgument;
    case ErrorCode::invalid_usage:
    case ErrorCode::configuration:
    case ErrorCode::mismatch:
      return ncclInvalidUsage;
    case ErrorCode::peer_lost:
    case ErrorCode::aborted:
      return ncclRemoteError;
    case ErrorCode::timeout:
      return timeout_result();
    case ErrorCode::bootstrap:
    case ErrorCode::out_of_memory:
    case ErrorCode::system:
      return ncclSystemError;
    case ErrorCode::internal:
      break;
  }
  return ncclInternalError;
}

const char* words_of(ncclResult_t result) {
  constexpr std::array words{
      "no error",
      "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      "internal error - please report this issue to the NCCL developers",
      "invalid argument (run with NCCL_DEBUG=INFO for details)",
      "invalid usage (run with NCCL_DEBUG=INFO for details)",
      "remote process exited or there was a network error",
      "NCCL operation in progress",
      "timeout",
  };
  const auto number = static_cast<int>(result);
  if (number < 0 || number >= static_cast<int>(words.size())) return "unknown result code";
  return words[static_cast<std::size_t>(number)];
}

void remember(const std::string& text) {
  last_error_text() = printable(text);
  log(LogLevel::info, -1, last_error_text());
}

const char* last_error() { return last_error_text().c_str(); }

ncclResult_t report(const char* function) noexcept {
  try {
    const std::string prefix = std::string(function) + ": ";
    try {
      throw;
    } catch (const Error& error) {
      remember(prefix + words_of(error));
      return result_of(error);
    } catch (const std::bad_alloc&) {
      remember(prefix + "rondo: no memory left");
      return ncclSystemError;
    } catch (const std::exception& error) {
      remember(prefix + "rondo: " + error.what());
    }
  } catch (...) {
    // No memory even for the words: the result must do.
  }
  return ncclInternalError;
}

void require(const void* pointer, const char* name) {
  if (pointer != nullptr) return;
  throw Error(ErrorCode::invalid_argument, std::string(name) + " is null",
              {.remedy = "pass the address of a variable"});
}

}  // namespace rondo::nccl
