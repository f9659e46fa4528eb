// What `rondo rdma` says about the devices it found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "transports/verbs/devices.h"

namespace rondo::tool {

/// Lines of at most 80 columns where no device has a name of more than 24: the ports, their
/// addresses, whether rondo uses them and why not; without devices why there are none and what to
/// do.
std::string rdma_text(const verbs::Discovery& discovery, const verbs::Settings& settings);

/// The same as an object with "obstacle", "remedy", "ports" and "settings". Numbers are in the
/// units of their names.
nlohmann::ordered_json rdma_json(const verbs::Discovery& discovery,
                                 const verbs::Settings& settings);

}  // namespace rondo::tool
