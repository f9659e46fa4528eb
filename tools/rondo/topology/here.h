// What this machine has, as far as a topology tells it.
#pragma once

#include <filesystem>

#include "core/topology/topology.h"

namespace rondo::tool {

/// The host as this process sees it. `system`: the kernel's folder of devices. Ports: interfaces
/// that are up and leave the machine, and RDMA ports that are active. Devices: GPUs.
Host host_here(const std::filesystem::path& system = "/sys");

/// The socket on which this process may run; -1: several, or unknown.
int socket_here();

}  // namespace rondo::tool
