// Communicators made from others: split, shrink, grow, and what is possible after a failure.
#include <array>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

int rank_of(ncclComm_t comm) {
  int rank = -1;
  expect(ncclCommUserRank(comm, &rank));
  return rank;
}

int size_of(ncclComm_t comm) {
  int ranks = -1;
  expect(ncclCommCount(comm, &ranks));
  return ranks;
}

TEST_CASE("split by color, ordered by key") {
  with_members(5, [](int rank, ncclComm_t comm) {
    ncclComm_t half = nullptr;
    expect(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr));
    expect_that(size_of(half) == (rank % 2 == 0 ? 3 : 2), "even ranks are 0, 2, 4");
    expect_that(rank_of(half) == size_of(half) - 1 - rank / 2, "the highest rank comes first");
    expect_sum(half, static_cast<float>(rank), rank % 2 == 0 ? 6 : 4);
    expect_sum(comm, 1, 5);
    expect(ncclCommDestroy(half));
  });
}

TEST_CASE("a rank without a color is in no communicator") {
  with_members(3, [](int rank, ncclComm_t comm) {
    ncclComm_t child = comm;
    expect(ncclCommSplit(comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 0, 0, &child, nullptr));
    expect_that((child == nullptr) == (rank == 1), "rank 1 alone has none");
    if (child != nullptr) expect_sum(child, 1, 2);
    expect(ncclCommDestroy(child));
    refused(ncclCommSplit(comm, -2, 0, &child, nullptr), "color -2");
  });
}

TEST_CASE("one thread splits all its ranks' communicators in a group") {
  const std::vector<ncclComm_t> comms = init_all(4);
  std::vector<ncclComm_t> halves(4);
  expect(ncclGroupStart());
  for (std::size_t i = 0; i < 4; ++i)
    expect(ncclCommSplit(comms[i], static_cast<int>(i / 2), 0, &halves[i], nullptr));
  expect(ncclGroupEnd());
  on_all_ranks(4, [&](int rank) { expect_sum(halves[static_cast<std::size_t>(rank)], 1, 2); });
  destroy(halves);
  destroy(comms);
}

TEST_CASE("shrink leaves ranks out") {
  with_members(4, [](int rank, ncclComm_t comm) {
    std::array excluded{1, 2};
    ncclComm_t rest = nullptr;
    if (rank == 1 || rank == 2) {
      refused(ncclCommShrink(comm, excluded.data(), 2, &rest, nullptr, NCCL_SHRINK_DEFAULT),
              "this rank itself");
      return;
    }
    expect(ncclCommShrink(comm, excluded.data(), 2, &rest, nullptr, NCCL_SHRINK_DEFAULT));
    expect_that(size_of(rest) == 2 && rank_of(rest) == (rank == 0 ? 0 : 1), "two are left");
    expect_sum(rest, 1, 2);
    expect(ncclCommDestroy(rest));
  });
}

TEST_CASE("shrink's arguments are checked") {
  const std::vector<ncclComm_t> comms = init_all(2);
  std::array<int, 2> twice{1, 1};
  int missing = 2;
  ncclComm_t rest = nullptr;
  refused(ncclCommShrink(comms[0], &missing, 1, &rest, nullptr, 0), "excluded rank 2");
  refused(ncclCommShrink(comms[0], twice.data(), 2, &rest, nullptr, 0), "fewer ranks");
  refused(ncclCommShrink(comms[0], nullptr, 1, &rest, nullptr, 0), "is null");
  refused(ncclCommShrink(comms[0], &missing, 1, &rest, nullptr, 7), "shrinkFlags");
  destroy(comms);
}

TEST_CASE("shrink with abort gets ranks out of a call that cannot end") {
  const std::vector<ncclComm_t> comms = init_without_blocking(3);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  std::vector<float> values(3, 1);
  on_all_ranks(3, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank == 1) return;
    expect(ncclAllReduce(&values[at], &values[at], 1, ncclFloat, ncclSum, comms[at], nullptr),
           ncclInProgress);
  });
  each_member(comms, [&](int rank, ncclComm_t comm) {
    int missing = 1;
    if (rank == missing) {
      while (settled(comm) == ncclSuccess) std::this_thread::yield();  // until the others abort
    } else {
      ncclComm_t rest = nullptr;
      expect(ncclCommShrink(comm, &missing, 1, &rest, &config, NCCL_SHRINK_ABORT));
      expect_sum(rest, 1, 2);
      expect(ncclCommDestroy(rest));
    }
    expect(ncclCommAbort(comm));
  });
}

TEST_CASE("a revoked communicator makes no calls, but others can be made from it") {
  const std::vector<ncclComm_t> comms = init_all(3);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    refused(ncclCommRevoke(comm, 1), "revokeFlags");
    expect(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
    expect_that(settled(comm) == ncclSuccess, "it is quiet");
    float value = 1;
    expect_error(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr),
                 ncclInvalidUsage, "revoked");
    expect_error(ncclCommFinalize(comm), ncclInvalidUsage, "revoked");
    expect_that(size_of(comm) == 3, "questions are answered");
    ncclComm_t again = nullptr;
    expect(ncclCommSplit(comm, 0, -rank, &again, nullptr));
    expect_sum(again, 1, 3);
    expect_that(rank_of(again) == 2 - rank, "ordered by key");
    expect(ncclCommDestroy(again));
    if (rank == 2) return;
    int last = 2;
    expect(ncclCommShrink(comm, &last, 1, &again, nullptr, NCCL_SHRINK_DEFAULT));
    expect_sum(again, 1, 2);
    expect(ncclCommDestroy(again));
  });
  destroy(comms);
}

TEST_CASE("a communicator grows by ranks that were not in it") {
  const std::vector<ncclComm_t> comms = init_all(2);
  ncclUniqueId id;
  expect(ncclCommGetUniqueId(comms[1], &id));
  on_all_ranks(4, [&](int rank) {
    ncclComm_t larger = nullptr;
    const bool old = rank < 2;
    expect(ncclCommGrow(old ? comms[static_cast<std::size_t>(rank)] : nullptr, 4,
                        rank == 0 ? nullptr : &id, old ? -1 : rank, &larger, nullptr));
    expect_that(size_of(larger) == 4 && rank_of(larger) == rank, "old ranks keep their numbers");
    expect_sum(larger, 1, 4);
    expect(ncclCommDestroy(larger));
  });
  ncclComm_t larger = nullptr;
  refused(ncclCommGrow(comms[0], 2, &id, -1, &larger, nullptr), "cannot grow to 2");
  const std::vector<ncclComm_t> alone = init_all(1);
  expect_error(ncclCommGrow(alone[0], 2, nullptr, -1, &larger, nullptr), ncclInvalidUsage,
               "passes what ncclCommGetUniqueId wrote");
  destroy(alone);
  refused(ncclCommGrow(nullptr, 3, nullptr, 2, &larger, nullptr), "uniqueId is null");
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
