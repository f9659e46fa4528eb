// Unique ids and first communicators.
#include <bit>
#include <exception>
#include <string>
#include <thread>

#include "core/communicator/access.h"
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
  const auto member = std::make_shared<Member>(
      read_traits(config, {.context = current_context(), .device = current_device()}));
  const auto ours = std::bit_cast<UniqueId>(id);
  *comm = add_handle(member);
  return issue(Making{member,
                      [ours, rank, ranks] {
                        return detail::CommunicatorAccess::state(
                            Communicator::from_unique_id(ours, rank, ranks));
                      },
                      comm});
}

/// Runs body(rank) on a thread for each rank, as making a communicator is collective. Throws what a
/// rank threw.
template <class Body>
void on_threads(int ranks, Body body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < failures.size(); ++at) {
    threads.emplace_back([&, at] {
      try {
        body(at);
      } catch (...) {
        failures[at] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void init_all(ncclComm_t* comms, int ranks, const int* devices) {
  require(comms, "comm");
  check_place(0, ranks);
  for (int rank = 0; devices != nullptr && rank < ranks; ++rank) {
    if (devices[rank] >= 0) continue;
    throw Error(ErrorCode::invalid_argument,
                "devlist[" + std::to_string(rank) + "] is " + std::to_string(devices[rank]),
                {.remedy = "devices are numbered from 0"});
  }
  const std::vector<Communicator> made = Communicator::from_threads(ranks);
  std::vector<std::shared_ptr<Member>> members;
  for (int rank = 0; rank < ranks; ++rank) {
    const int device = devices != nullptr ? devices[rank] : rank;
    members.push_back(std::make_shared<Member>(Traits{
        .context = device == current_device() ? current_context() : nullptr, .device = device}));
  }
  on_threads(ranks, [&](std::size_t at) {
    members[at]->make([&] { return detail::CommunicatorAccess::state(made[at]); });
  });
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
          {.remedy = "pass at least one unique id and at most one a rank"});
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
