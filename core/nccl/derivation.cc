// Communicators made from others: split, shrink, grow.
#include <algorithm>
#include <bit>
#include <string>

#include "core/communicator/access.h"
#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"

namespace rondo::nccl {
namespace {

/// `parent`: whose other ranks take part; null: none do.
ncclResult_t issue_child(ncclComm_t* out, const ncclConfig_t* config, const Traits& inherited,
                         Maker maker, std::shared_ptr<Member> parent = nullptr) {
  const auto child = std::make_shared<Member>(read_traits(config, inherited));
  *out = add_handle(child);
  return issue(Making{child, std::move(maker), out, std::move(parent)});
}

ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t* out,
                   const ncclConfig_t* config) {
  require(out, "newcomm");
  *out = NCCL_COMM_NULL;
  const std::shared_ptr<Member> parent = member_of(comm);
  // Asked for here: while it is made the parent itself may count as busy.
  detail::CommunicatorState& state = parent->parent();
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    throw Error(ErrorCode::invalid_argument, "color " + std::to_string(color) + " is negative",
                {.remedy = "use 0 and above, or NCCL_SPLIT_NOCOLOR to be in no communicator"});
  }
  Maker maker = [parent, &state, color, key] {
    parent->streamed().finish();
    return parent->is_revoked() ? state.split_living(color, key) : state.split(color, key);
  };
  if (color == NCCL_SPLIT_NOCOLOR) return issue(Making{nullptr, std::move(maker), out, parent});
  return issue_child(out, config, parent->traits(), std::move(maker), parent);
}

std::vector<int> read_excluded(const int* list, int count, int rank, int ranks) {
  if (count < 0 || count >= ranks) {
    throw Error(ErrorCode::invalid_argument,
                "excludeRanksCount is " + std::to_string(count) + " of " + std::to_string(ranks),
                {.rank = rank, .remedy = "exclude fewer ranks than there are"});
  }
  if (count > 0) require(list, "excludeRanksList");
  std::vector<int> excluded(list, list + count);
  for (const int peer : excluded) {
    if (peer < 0 || peer >= ranks || std::ranges::count(excluded, peer) > 1) {
      throw Error(ErrorCode::invalid_argument,
                  "excluded rank " + std::to_string(peer) + " does not exist or is listed twice",
                  {.rank = rank});
    }
  }
  if (std::ranges::find(excluded, rank) != excluded.end()) {
    throw Error(ErrorCode::invalid_argument, "this rank itself is excluded",
                {.rank = rank, .remedy = "only the ranks that remain call ncclCommShrink"});
  }
  return excluded;
}

ncclResult_t shrink(ncclComm_t comm, const int* list, int count, ncclComm_t* out,
                    const ncclConfig_t* config, int flags) {
  require(out, "newcomm");
  *out = NCCL_COMM_NULL;
  if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT) {
    throw Error(ErrorCode::invalid_argument, "shrinkFlags is " + std::to_string(flags));
  }
  const std::shared_ptr<Member> parent = member_of(comm);
  if (flags == NCCL_SHRINK_ABORT) parent->stop();
  detail::CommunicatorState& state = parent->parent();
  if (flags == NCCL_SHRINK_DEFAULT && !parent->is_revoked()) {
    if (const auto failure = state.failure()) throw *failure;
  }
  auto excluded = read_excluded(list, count, state.rank(), state.size());
  Maker maker = [parent, &state, excluded = std::move(excluded)] {
    parent->streamed().finish();
    return state.shrink(excluded);
  };
  return issue_child(out, config, parent->traits(), std::move(maker), parent);
}

ncclResult_t grow(ncclComm_t comm, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* out,
                  const ncclConfig_t* config) {
  require(out, "newcomm");
  *out = NCCL_COMM_NULL;
  std::optional<UniqueId> mine;
  if (id != nullptr) mine = std::bit_cast<UniqueId>(*id);
  if (comm == NCCL_COMM_NULL) {
    require(id, "uniqueId");
    return issue_child(out, config, current_traits(), [mine, rank, ranks] {
      return detail::CommunicatorAccess::state(Communicator::from_unique_id(*mine, rank, ranks));
    });
  }
  const std::shared_ptr<Member> parent = member_of(comm);
  detail::CommunicatorState& state = parent->state();
  if (rank != -1 && rank != state.rank())
    throw Error(ErrorCode::invalid_argument, "rank is " + std::to_string(rank),
                {.rank = state.rank(), .remedy = "pass -1 here: old ranks keep their numbers"});
  state.check_growth(ranks);
  Maker maker = [parent, &state, mine, ranks] {
    parent->streamed().finish();
    return state.grow(ranks, mine);
  };
  return issue_child(out, config, parent->traits(), std::move(maker), parent);
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclCommSplit);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  return guarded_in_group("ncclCommSplit",
                          [&] { return split(comm, color, key, newcomm, config); });
}

RONDO_NCCL_EXPORT(ncclCommShrink);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  return guarded_in_group("ncclCommShrink", [&] {
    return shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags);
  });
}

RONDO_NCCL_EXPORT(ncclCommGrow);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config) {
  return guarded_in_group("ncclCommGrow",
                          [&] { return grow(comm, nRanks, uniqueId, rank, newcomm, config); });
}
