// Unique ids, and communicators made from nothing else.
#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "core/base/threads.h"
#include "core/communicator/access.h"
#include "core/cuda/handles.h"
#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"

namespace rondo::nccl {
namespace {

void check_place(int rank, int ranks) {
  if (ranks >= 1 && rank >= 0 && rank < ranks) return;
  throw Error(
      ErrorCode::invalid_argument,
      "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " ranks does not exist",
      {.remedy = "use nranks >= 1 and 0 <= rank < nranks"});
}

ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank,
                       const ncclConfig_t* config) {
  require(comm, "comm");
  *comm = NCCL_COMM_NULL;
  check_place(rank, ranks);
  const auto member = std::make_shared<Member>(read_traits(config, current_traits()));
  const auto ours = std::bit_cast<UniqueId>(id);
  *comm = add_handle(member);
  return issue(Making{member,
                      [ours, rank, ranks] {
                        return detail::CommunicatorAccess::state(
                            Communicator::from_unique_id(ours, rank, ranks));
                      },
                      comm});
}

/// By rank. Throws Error{invalid_argument} for a device that does not exist, where that is known.
std::vector<int> devices_of(int ranks, const int* list) {
  const int known = cuda::device_count();
  std::vector<int> devices(static_cast<std::size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  if (list != nullptr) std::copy_n(list, ranks, devices.begin());
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const int device = devices[rank];
    if (device >= 0 && (known == 0 || device < known)) continue;
    const std::string asked = "devlist[" + std::to_string(rank) + "] is " + std::to_string(device);
    if (device < 0)
      throw Error(ErrorCode::invalid_argument, asked, {.remedy = "devices are numbered from 0"});
    throw Error(ErrorCode::invalid_argument,
                (list != nullptr ? asked : "ndev is " + std::to_string(ranks)) +
                    ", and this process has " + std::to_string(known) + " CUDA device(s)",
                {.remedy = "name devices from 0 to " + std::to_string(known - 1) +
                           " in devlist; several ranks may have the same one"});
  }
  return devices;
}

/// The context in which the calls of a rank on `device` will come, if that is known. CUDA's runtime
/// uses primary contexts, and so does rondo. But a context of the program's own counts where it is
/// current.
cuda::SharedContext context_on(int device) {
  const cuda::Context current = cuda::current_context();
  const bool here = current != nullptr && current_device() == device;
  cuda::SharedContext primary = cuda::primary_if_there(device);
  return here && current != primary.get() ? cuda::borrowed(current) : primary;
}

void init_all(ncclComm_t* comms, int ranks, const int* list) {
  require(comms, "comm");
  check_place(0, ranks);
  std::fill_n(comms, ranks, ncclComm_t{});
  std::vector<std::shared_ptr<Member>> members;
  for (const int device : devices_of(ranks, list))
    members.push_back(
        std::make_shared<Member>(Traits{.context = context_on(device), .device = device}));
  const std::vector<Communicator> made = Communicator::from_threads(ranks);
  // Making what hangs on a communicator is collective, too.
  rethrow_first(run_together(members.size(), [&](std::size_t at) {
    members[at]->make([&] { return detail::CommunicatorAccess::state(made[at]); });
  }));
  for (std::size_t at = 0; at < members.size(); ++at) comms[at] = add_handle(members[at]);
}

void unique_id(ncclUniqueId* out) {
  require(out, "uniqueId");
  *out = std::bit_cast<ncclUniqueId>(make_unique_id());
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclGetUniqueId);
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guarded("ncclGetUniqueId", [&] { unique_id(uniqueId); });
}

RONDO_NCCL_EXPORT(ncclCommGetUniqueId);
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId) {
  return guarded("ncclCommGetUniqueId", [&] {
    member_of(comm)->state();
    unique_id(uniqueId);
  });
}

RONDO_NCCL_EXPORT(ncclCommInitRank);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return guarded_in_group("ncclCommInitRank",
                          [&] { return init_rank(comm, nranks, commId, rank, nullptr); });
}

RONDO_NCCL_EXPORT(ncclCommInitRankConfig);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  return guarded_in_group("ncclCommInitRankConfig",
                          [&] { return init_rank(comm, nranks, commId, rank, config); });
}

RONDO_NCCL_EXPORT(ncclCommInitRankScalable);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  return guarded_in_group("ncclCommInitRankScalable", [&] {
    require(commIds, "commIds");
    if (nId < 1 || nId > nranks) {
      throw rondo::Error(
          rondo::ErrorCode::invalid_argument,
          "nId is " + std::to_string(nId) + " for " + std::to_string(nranks) + " ranks",
          {.remedy = "pass at least one unique id and at most one for each rank"});
    }
    return init_rank(newcomm, nranks, commIds[0], myrank, config);
  });
}

RONDO_NCCL_EXPORT(ncclCommInitAll);
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return guarded_in_group("ncclCommInitAll", [&] {
    init_all(comm, ndev, devlist);
    return ncclSuccess;
  });
}
