// Group: one process group's communicator, with what its work needs of it.
#pragma once

#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "rondo/rondo.h"

namespace rondo_torch {

struct Group {
  std::string name{};  ///< how errors call it
  rondo::Communicator communicator{};
  std::mutex mutex{};  ///< held while calls are begun: rondo wants one thread at a time
  std::chrono::milliseconds timeout{0};
  std::thread::id caller{};  ///< the first thread that made a call; under the mutex
  bool shared = false;       ///< another thread has made one, too; under the mutex

  /// Notes who calls. With the mutex. True while all calls have come from one thread.
  bool only_caller() {
    if (caller == std::thread::id{}) caller = std::this_thread::get_id();
    shared = shared || caller != std::this_thread::get_id();
    return !shared;
  }
};

/// The error as torch wants it: a RuntimeError in Python, with the group's name before rondo's
/// text.
[[noreturn]] void rethrow(const rondo::Error& error, const Group& group);
std::exception_ptr translate(const rondo::Error& error, const Group& group);

}  // namespace rondo_torch
