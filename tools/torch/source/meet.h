// How the ranks of a process group find each other: by torch's store, which they all reach.
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

/// Waits until all keys are there; returns those that are not when the time is up. Asks at least
/// once.
std::vector<std::string> await_keys(c10d::Store& store, const std::vector<std::string>& keys,
                                    std::chrono::milliseconds timeout);

/// Collective. What earlier processes of the same ranks left in the store does no harm: torchrun's
/// outlives those that it starts again. Throws std::runtime_error that names the ranks that did not
/// come within `timeout`, which is also the communicator's.
Meeting meet(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
             std::chrono::milliseconds timeout);

}  // namespace rondo_torch
