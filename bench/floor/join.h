// A communicator of a team's members.
#pragma once

#include "bench/floor/team.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Collective.
inline Communicator join(Member& member, const rondo::Options& options) {
  const UniqueId id = agree_on(member, member.rank() == 0 ? make_unique_id() : UniqueId());
  return Communicator::from_unique_id(id, member.rank(), member.size(), options);
}

}  // namespace rondo::bench
