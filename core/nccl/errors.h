// rondo's exceptions as NCCL's result codes, and the texts for ncclGetLastError.
#pragma once

#include <exception>
#include <string>
#include <type_traits>

#include "core/nccl/include/nccl.h"
#include "rondo/error.h"

namespace rondo::nccl {

ncclResult_t result_of(const Error& error);
/// NCCL's words for a result; clients print and compare them.
const char* words_of(ncclResult_t result);

/// Keeps `text` as this thread's last error.
void remember(const std::string& text);
/// This thread's last error; valid until its next one. Never null.
const char* last_error();

/// The exception that is being handled as a result; its words are remembered, led by `function`.
ncclResult_t report(const char* function) noexcept;

/// Runs the body of a function of the C API: no exception leaves it.
template <class Body>
ncclResult_t guarded(const char* function, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return ncclSuccess;
    } else {
      return body();
    }
  } catch (...) {
    return report(function);
  }
}

/// Throws Error{invalid_argument} when `pointer` is null.
void require(const void* pointer, const char* name);

}  // namespace rondo::nccl
