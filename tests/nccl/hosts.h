// Ranks as processes that take each other for other hosts, or for ranks of a few hosts. A network
// transport connects those, so device buffers go through the pinned memory of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/nccl/include/nccl.h"

namespace rondo::test {

/// How a rank's process ended.
struct Ended {
  int status = 0;       ///< as waitpid() says
  std::string words{};  ///< its standard error; what the body threw is its last line
};

/// "NAME=VALUE", for all ranks.
using Environment = std::vector<std::string>;
/// How many, and how many of them one host has, each with a device of its own; they follow each
/// other.
struct Ranks {
  explicit(false) Ranks(int ranks, int ranks_on_host = 1) : all(ranks), on_host(ranks_on_host) {}
  int all;
  int on_host;
};
using HostBody = std::function<void(int rank, ncclComm_t comm)>;

/// Runs body(rank, comm) in a process for each rank of a new communicator, on a device of its own
/// stand-in driver, and destroys the communicator. All the driver's memory must be given back then.
/// What a body throws ends its process with status 1. A process that takes longer than two minutes
/// is killed. Between hosts the transport is tcp, unless RONDO_TRANSPORT says otherwise. It uses fork(),
/// so this process must have no thread but the one that calls, and have touched no driver.
std::vector<Ended> run_hosts(Ranks ranks, const HostBody& body, const Environment& more = {});

/// The same, but throws the words of processes that did not end well.
void with_hosts(Ranks ranks, const HostBody& body, const Environment& more = {});

}  // namespace rondo::test
