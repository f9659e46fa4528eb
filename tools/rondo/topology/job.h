// The topology of the job that this process is a rank of.
#pragma once

#include "core/topology/topology.h"

namespace rondo::tool {

/// This machine's topology where no launcher started the process; else the job's, equal on all of
/// its ranks, and then a collective call. `first` becomes whether this is the rank that prints.
/// Throws Error{configuration} if ranks of one host see different ports or devices.
Topology discovered(bool& first);

}  // namespace rondo::tool
