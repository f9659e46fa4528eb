// How the ranks of a process group find each other: by torch's store, which all of them reach.
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "rondo/rondo.h"

namespace rondo_torch {

struct Meeting {
  rondo::Communicator communicator{};
  c10::intrusive_ptr<c10d::Store> store{};  ///< a part of the store that only these ranks know
};

/// Waits until all keys are in the store. Returns the keys that are missing when the time is up.
/// Asks at least once.
std::vector<std::string> await_keys(c10d::Store& store, const std::vector<std::string>& keys,
                                    std::chrono::milliseconds timeout);

/// Collective. Keys that earlier processes of the same ranks left in the store do no harm:
/// torchrun's store outlives the processes that it restarts. Throws std::runtime_error that names
/// the ranks that did not come within `timeout`, which is also the communicator's timeout.
Meeting meet(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
             std::chrono::milliseconds timeout);

}  // namespace rondo_torch
