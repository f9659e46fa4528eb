// discover() over a given table and sysfs, so that tests can make machines up.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <cstdint>
#include <filesystem>

#include "transports/verbs/library.h"

namespace rondo::verbs {

/// `classes`: /sys/class/infiniband, where the kernel lists devices of which libibverbs may know
/// nothing.
Discovery discover(const Library& table, const std::filesystem::path& classes);

/// Gbit/s of ibv_port_attr's active_width and active_speed, 0 for codes without a meaning.
double link_speed(std::uint8_t width, std::uint8_t speed);

}  // namespace rondo::verbs
