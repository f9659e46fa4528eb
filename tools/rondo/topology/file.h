// Topologies as JSON, for files and for programs.
//
//   {"what": "rondo topology", "schema": 1,
//    "hosts": [{"count": 512, "ranks": 8, "cores": 64, "sockets": 2,
//               "ports": [{"name": "mlx5_0", "kind": "rdma", "bits_per_second": 4e11, "socket": 0}],
//               "devices": [{"name": "GPU 0", "socket": 0}]}],
//    "numbering": "by_host",
//    "fabric": {"kind": "fat_tree", "group": 32, "bits_per_second": 6.4e12},
//    "memory": {"alpha": 3e-7, "beta": 1e-10}, "between_sockets": {"bits_per_second": 4e11},
//    "network": {"alpha": 5e-6}, "gamma": 5e-11}
//
// Without a switch: {"kind": "cables", "cables": [{"between": [0, 1], "bits_per_second": 1e10}, ...]}.
// The fabric's "bits_per_second" is that of cables that do not say theirs; 10 Gbit/s if neither does.
//
// "count" hosts are alike. "numbering" is by_host or in_turn; instead "host_of_rank" may name the
// host of each rank. "socket_of_rank" may name its socket there, -1 where that is unknown. What a
// file leaves out is as the topology's fields say; "hosts" is needed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/topology/topology.h"

namespace rondo::tool {

nlohmann::ordered_json to_json(const Host& host);
/// Throws JsonDefect.
Host host_from_json(const nlohmann::ordered_json& json);

nlohmann::ordered_json to_json(const Topology& topology);

/// Throws Error{invalid_argument} that names the file, the place in it, and what is wrong.
Topology read_topology(const std::string& path);

std::string_view name(FabricKind kind);
/// Throws Error{invalid_argument} with the known names.
FabricKind fabric_by_name(const std::string& name);

}  // namespace rondo::tool
