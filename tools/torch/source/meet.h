// How the ranks of a process group find each other: by torch's store, which they all reach.
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "rondo/rondo.h"

namespace rondo_torch {

/// Waits until all keys are there; returns those that are not when the time is up. Asks again and
/// again, as the store's own wait keeps other threads from it, and warns when its time is up.
std::vector<std::string> await_keys(c10d::Store& store, const std::vector<std::string>& keys,
                                    std::chrono::milliseconds timeout);

/// Collective. Rank 0 puts a unique id into the store. Throws std::runtime_error that names the
/// ranks that did not come within `timeout`, which is also the communicator's.
rondo::Communicator meet(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout);

}  // namespace rondo_torch
