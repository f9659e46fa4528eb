// What `rondo rdma` says about the devices it found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "transports/verbs/devices.h"

namespace rondo::tool {

/// The ports, their addresses, whether rondo uses them, and why not. Without devices it says why
/// there are none and what to do. Lines have at most 80 columns, unless a device's name has more
/// than 24 characters.
std::string rdma_text(const verbs::Discovery& discovery, const verbs::Settings& settings);

/// The same as an object with "obstacle", "remedy", "ports" and "settings". Numbers are in the
/// units of their names.
nlohmann::ordered_json rdma_json(const verbs::Discovery& discovery,
                                 const verbs::Settings& settings);

}  // namespace rondo::tool
