// Trees become a schedule: every message gets its round, and every rank does its steps by rounds. That
// order is the same on all ranks, so no rank waits for one that waits for it.
#pragma once

#include "core/schedule/schedule.h"
#include "tools/rondo/synthesize/packing.h"

namespace rondo::tool {

struct Weave {
  int lanes = 1;          ///< at most; trees take turns
  bool mirrored = false;  ///< what goes up is put in order as if it went down, last message first
};

/// `bytes`: of the whole vector or all blocks; decides which message goes first where several could.
/// Demands are those of the packing.
Schedule weave(Collective collective, int root, const Network& network,
               const std::vector<Demand>& demands, const Packing& packing, double bytes,
               const Weave& how);

}  // namespace rondo::tool
