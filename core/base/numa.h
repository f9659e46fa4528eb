// Which memory is near.
#pragma once

#include <filesystem>

namespace rondo {

/// The NUMA node of all processors that this process may run on; -1 where they belong to several
/// nodes, or the node is unknown. `processors`: the kernel's folder of processors.
int process_numa_node(const std::filesystem::path& processors = "/sys/devices/system/cpu");

/// The NUMA node of a device, by its folder in /sys; -1 where it is unknown.
int device_numa_node(const std::filesystem::path& device);

}  // namespace rondo
