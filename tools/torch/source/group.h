// Group: one process group's communicator, and the state that its work needs.
#pragma once

#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "rondo/rondo.h"

namespace rondo_torch {

struct Group {
  std::string name{};  ///< its name in errors
  rondo::Communicator communicator{};
  std::mutex mutex{};  ///< held while calls begin: rondo takes one thread at a time
  std::chrono::milliseconds timeout{0};
  std::thread::id caller{};  ///< the first thread that made a call; under the mutex
  bool shared = false;       ///< another thread has made one, too; under the mutex

  /// Records the calling thread; call it with the mutex held. True while all calls have come from
  /// one thread.
  bool only_caller() {
    if (caller == std::thread::id{}) caller = std::this_thread::get_id();
    shared = shared || caller != std::this_thread::get_id();
    return !shared;
  }
};

/// The error in torch's form: a DistBackendError (in Python a RuntimeError), with the group's name
/// before rondo's text.
[[noreturn]] void rethrow(const rondo::Error& error, const Group& group);
std::exception_ptr translate(const rondo::Error& error, const Group& group);

}  // namespace rondo_torch
