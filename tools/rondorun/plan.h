// Which ranks run on which node, and the environment of each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/rondorun/options.h"

namespace rondo::launch {

/// What one node has to run. Value type; travels to other hosts.
struct NodePlan {
  int world = 1;  ///< ranks in all
  int nodes = 1;
  int node = 0;
  int first_rank = 0;  ///< the node's ranks are consecutive
  int ranks = 1;       ///< on this node
  std::string master_address{};
  std::uint16_t master_port = 0;  ///< 0: still to be chosen, on node 0
  bool bind_to_core = false;
  std::string directory{};               ///< empty: as it is
  std::vector<std::string> variables{};  ///< "NAME=VALUE", added to the node's own environment
  std::vector<std::string> command{};

  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

/// The node that this process itself runs: -n, perhaps with --nnodes.
NodePlan local_plan(const Options& options);

/// One plan for each host. `environment` and `directory` are those of this process. RONDO_* and
/// NCCL_* variables go along, except RONDO_HOSTID and NCCL_HOSTID, which name one host.
std::vector<NodePlan> host_plans(const Options& options, std::span<const std::string> environment,
                                 const std::string& directory);

/// A random secret for a job's ranks, as RONDO_SECRET; empty where the user has given one, in
/// `environment` or by --env. Only who starts all nodes of a job can make one.
std::optional<std::string> secret_for(const Options& options,
                                      std::span<const std::string> environment);

/// The whole environment of one rank: `inherited`, then the plan's variables, then rank and world.
std::vector<std::string> rank_environment(const NodePlan& plan, int local_rank,
                                          std::span<const std::string> inherited);

/// This process's environment.
std::vector<std::string> own_environment();

}  // namespace rondo::launch
