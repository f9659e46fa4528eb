// The part of NCCL's device API that runs on the host: answers about ranks and teams.
#include "core/nccl/device_functions.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/cuda/driver.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/handles.h"

namespace rondo::nccl {
namespace {

/// A team, or one of no ranks when there is no such communicator.
template <class Body>
ncclTeam team(const char* function, ncclComm_t comm, Body&& body) {
  ncclTeam made{};
  guarded(function, [&] {
    const auto member = member_of(comm);
    made = body(member->parent());
  });
  return made;
}

ncclTeam everyone(const detail::CommunicatorState& state) {
  return {.nRanks = state.size(), .rank = state.rank(), .stride = 1};
}

/// A rank of a team as one of the communicator; -1 when there is no such communicator.
int world_rank(const char* function, ncclComm_t comm, const ncclTeam& team, int rank) {
  int found = -1;
  guarded(function,
          [&] { found = member_of(comm)->parent().rank() + (rank - team.rank) * team.stride; });
  return found;
}

void query(Member& member, ncclCommProperties* out) {
  const detail::CommunicatorState& state = member.parent();
  const Traits& traits = member.traits();
  constexpr std::size_t head = offsetof(ncclCommProperties, rank);
  std::size_t size = 0;
  std::memcpy(&size, out, sizeof size);
  if (size < head || out->magic != NCCL_API_MAGIC) {
    throw Error(ErrorCode::invalid_argument, "the properties were not initialised",
                {.remedy = "begin with NCCL_COMM_PROPERTIES_INITIALIZER"});
  }
  ncclCommProperties all{};
  all.rank = state.rank();
  all.nRanks = state.size();
  all.cudaDev = traits.device;
  all.nvmlDev = traits.device;
  all.nLsaTeams = state.size();
  all.hostRmaSupport = cuda::find_driver() == nullptr || member.device_calls() != nullptr;
  // The caller keeps its head. A caller that was built earlier has fewer fields after it.
  std::memcpy(reinterpret_cast<std::byte*>(out) + head,
              reinterpret_cast<const std::byte*>(&all) + head, std::min(size, sizeof all) - head);
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclCommQueryProperties);
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties* props) {
  return guarded("ncclCommQueryProperties", [&] {
    const auto member = member_of(comm);
    require(props, "props");
    query(*member, props);
  });
}

RONDO_NCCL_EXPORT(ncclTeamWorld);
ncclTeam ncclTeamWorld(ncclComm_t comm) { return team("ncclTeamWorld", comm, everyone); }

// Without device pointers between ranks, each rank loads and stores alone ...
RONDO_NCCL_EXPORT(ncclTeamLsa);
ncclTeam ncclTeamLsa(ncclComm_t comm) {
  return team("ncclTeamLsa", comm, [](const auto&) { return ncclTeam{1, 0, 1}; });
}

// ... and a port, one rank of each such team, is everyone.
RONDO_NCCL_EXPORT(ncclTeamRail);
ncclTeam ncclTeamRail(ncclComm_t comm) { return team("ncclTeamRail", comm, everyone); }

RONDO_NCCL_EXPORT(ncclTeamRankToWorld);
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam members, int rank) {
  return world_rank("ncclTeamRankToWorld", comm, members, rank);
}

RONDO_NCCL_EXPORT(ncclTeamRankToLsa);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam members, int rank) {
  const int found = world_rank("ncclTeamRankToLsa", comm, members, rank);
  int own = -1;
  return pncclCommUserRank(comm, &own) == ncclSuccess ? found - own : -1;
}
