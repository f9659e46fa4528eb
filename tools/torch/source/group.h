// Group: one process group's communicator, with what its work needs of it.
#pragma once

#include <chrono>
#include <exception>
#include <mutex>
#include <string>

#include "rondo/rondo.h"

namespace rondo_torch {

struct Group {
  std::string name{};  ///< how errors call it
  rondo::Communicator communicator{};
  std::mutex mutex{};  ///< held while calls are begun: rondo wants one thread at a time
  std::chrono::milliseconds timeout{0};
};

/// The error as torch wants it: a RuntimeError in Python, with the group's name before rondo's
/// text.
[[noreturn]] void rethrow(const rondo::Error& error, const Group& group);
std::exception_ptr translate(const rondo::Error& error, const Group& group);

}  // namespace rondo_torch
