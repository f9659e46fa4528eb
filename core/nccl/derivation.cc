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
    return parent->is_revoked() ? state.split_after_failure(color, key) : state.split(color, key);
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

/// What each rank of the smaller communicator says to the others before it grows.
struct Invitation {
  char is_there = 0;
  UniqueId id{};
};

/// The id that one of the ranks brought.
UniqueId spread(detail::CommunicatorState& state, const Invitation& mine) {
  std::vector<Invitation> all(static_cast<std::size_t>(state.size()));
  const Call call{.count = sizeof mine, .collective = Collective::all_gather};
  state.call(call, &mine, all.data());
  const auto bringer =
      std::ranges::find_if(all, [](const Invitation& each) { return each.is_there != 0; });
  if (bringer == all.end()) {
    throw Error(ErrorCode::invalid_usage, "no rank brought a unique id to ncclCommGrow",
                {.rank = state.rank(),
                 .remedy = "one rank of the old communicator passes what ncclCommGetUniqueId "
                           "returned, and so do all new ranks"});
  }
  return bringer->id;
}

ncclResult_t grow(ncclComm_t comm, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* out,
                  const ncclConfig_t* config) {
  require(out, "newcomm");
  *out = NCCL_COMM_NULL;
  Invitation mine;
  if (id != nullptr) {
    mine.is_there = 1;
    mine.id = std::bit_cast<UniqueId>(*id);
  }
  if (comm == NCCL_COMM_NULL) {
    require(id, "uniqueId");
    return issue_child(out, config, current_traits(), [mine, rank, ranks] {
      return detail::CommunicatorAccess::state(Communicator::from_unique_id(mine.id, rank, ranks));
    });
  }
  const std::shared_ptr<Member> parent = member_of(comm);
  detail::CommunicatorState& state = parent->state();
  if (ranks <= state.size() || (rank != -1 && rank != state.rank())) {
    throw Error(ErrorCode::invalid_argument,
                "a communicator of " + std::to_string(state.size()) + " ranks cannot grow to " +
                    std::to_string(ranks) + " with rank " + std::to_string(rank) + " here",
                {.rank = state.rank(),
                 .remedy = "pass more ranks than there are; old ranks keep theirs and pass -1"});
  }
  Maker maker = [parent, &state, mine, ranks] {
    parent->streamed().finish();
    return detail::CommunicatorAccess::state(
        Communicator::from_unique_id(spread(state, mine), state.rank(), ranks));
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
