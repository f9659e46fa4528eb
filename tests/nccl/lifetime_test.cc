// Non-blocking communicators, the end of communicators, and everything a program can do wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>

#include "tests/catch.h"
#include "tests/nccl/members.h"
#include "tests/nccl/wrong_pointers.h"

namespace rondo::test {
namespace {

constexpr ncclConfig_t untouched_config = NCCL_CONFIG_INITIALIZER;

TEST_CASE("a communicator that does not block says when it is made and when calls are complete") {
  with_unique_id(2, [](int rank, const ncclUniqueId& id) {
    ncclConfig_t config = without_blocking();
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInProgress);
    expect(settled(comm));
    std::vector<float> values(1000, 1);
    expect(ncclAllReduce(values.data(), values.data(), 1000, ncclFloat, ncclSum, comm, nullptr),
           ncclInProgress);
    expect(settled(comm));
    expect_that(values == std::vector<float>(1000, 2), "the call is complete");
    expect(ncclGroupStart());
    expect(ncclAllReduce(values.data(), values.data(), 10, ncclFloat, ncclSum, comm, nullptr));
    expect(ncclGroupEnd(), ncclInProgress);
    expect(settled(comm));
    ncclComm_t child = nullptr;
    expect(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclInProgress);
    expect(settled(child));
    expect(ncclCommDestroy(child));
    expect(ncclCommFinalize(comm), ncclInProgress);
    expect(settled(comm));
    expect_error(ncclAllReduce(values.data(), values.data(), 10, ncclFloat, ncclSum, comm, nullptr),
                 ncclInvalidUsage, "finalized");
    expect(ncclCommDestroy(comm));
    expect_that(values.front() == 4, "twice doubled");
  });
}

/// Which call is the first to succeed in a child by fork(); 0: none, -1: the child never came back.
int first_taken_by_a_child(ncclComm_t comm) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    float value = 1;
    int excluded = 1;
    ncclComm_t other = nullptr;
    const std::array results{ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr),
                             ncclCommSplit(comm, 0, 0, &other, nullptr),
                             ncclCommShrink(comm, &excluded, 1, &other, nullptr, 0),
                             ncclCommFinalize(comm)};
    const auto* const taken = std::ranges::find(results, ncclSuccess);
    if (taken != results.end()) ::_exit(static_cast<int>(taken - results.begin()) + 1);
    ::_exit(ncclCommAbort(comm) == ncclSuccess ? 0 : 100);
  }
  int status = 0;
  const bool came_back = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  return came_back ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a forked child has no part in its parent's communicators, and its abort ends none") {
  std::latch forked(1);  // nobody is in the library meanwhile: a child would find its locks held
  with_members(2, [&](int rank, ncclComm_t comm) {
    if (rank == 0) {
      const int taken = first_taken_by_a_child(comm);
      forked.count_down();
      expect_that(taken == 0, "all are errors there");
    }
    forked.wait();
    expect_sum(comm, 1, 2);
  });
}

TEST_CASE("a communicator takes no call while it is being made or has a call in progress") {
  ncclUniqueId id = new_id();
  ncclConfig_t config = without_blocking();
  std::vector<ncclComm_t> comms(2);
  expect(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
  int count = 0;
  refused(ncclCommCount(comms[0], &count), "still being made");
  expect(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
  for (const ncclComm_t comm : comms) expect(settled(comm));
  float value = 1;
  expect(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[0], nullptr), ncclInProgress);
  refused(ncclCommCount(comms[0], &count), "still in progress");
  float other = 1;
  expect(ncclAllReduce(&other, &other, 1, ncclFloat, ncclSum, comms[1], nullptr), ncclInProgress);
  for (const ncclComm_t comm : comms) expect(settled(comm));
  CHECK(value == 2);
  destroy(comms);
}

TEST_CASE("what a unique id holds is given back once its communicator is gone") {
  const auto make_and_destroy = [](int times) {
    for (int i = 0; i < times; ++i) {
      ncclUniqueId id = new_id();
      ncclComm_t comm = nullptr;
      expect(ncclCommInitRank(&comm, 1, id, 0));
      expect(ncclCommDestroy(comm));
    }
  };
  const auto descriptors = [] {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  make_and_destroy(2);
  const auto before = descriptors();
  make_and_destroy(50);
  CHECK(descriptors() < before + 50);  // the last ones may still be at it; each had four
}

TEST_CASE("NCCL_COMM_BLOCKING wins over what the program asks for") {
  ::setenv("NCCL_COMM_BLOCKING", "0", 1);
  ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclInProgress);
  CHECK(settled(comm) == ncclSuccess);
  ::unsetenv("NCCL_COMM_BLOCKING");
  expect(ncclCommDestroy(comm));
}

TEST_CASE("the config's size decides what is read of it") {
  struct Old {  // as a program built with 2.14 passes it; what follows is its own business
    ncclConfig_t config = untouched_config;
  } old;
  std::memset(reinterpret_cast<char*>(&old.config) + 24, 0x5a, sizeof old.config - 24);
  old.config.size = 24;
  old.config.version = 21400;
  ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  expect(ncclCommInitRankConfig(&comm, 1, id, 0, &old.config));
  expect(ncclCommDestroy(comm));
  struct Future {
    ncclConfig_t known = untouched_config;
    int unknown[8] = {};
  } future;
  future.known.size = sizeof future;
  future.known.version = 29900;
  expect(ncclGetUniqueId(&id));
  expect(ncclCommInitRankConfig(&comm, 1, id, 0, &future.known));
  expect(ncclCommDestroy(comm));
  ncclConfig_t wrong = untouched_config;
  wrong.magic = 1;
  refused(ncclCommInitRankConfig(&comm, 1, id, 0, &wrong), "NCCL_CONFIG_INITIALIZER");
  wrong = untouched_config;
  wrong.blocking = 3;
  refused(ncclCommInitRankConfig(&comm, 1, id, 0, &wrong), "blocking is 3");
  wrong = untouched_config;
  wrong.minCTAs = 9;
  wrong.maxCTAs = 8;
  refused(ncclCommInitRankConfig(&comm, 1, id, 0, &wrong), "minCTAs");
}

TEST_CASE("scalable init, and the arguments of all ways to make communicators") {
  std::vector<ncclUniqueId> ids(2);
  for (ncclUniqueId& id : ids) expect(ncclGetUniqueId(&id));
  on_all_ranks(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRankScalable(&comm, 2, rank, 2, ids.data(), nullptr));
    expect_sum(comm, 1, 2);
    expect(ncclCommDestroy(comm));
  });
  ncclComm_t comm = nullptr;
  const int negative = -1;
  refused(ncclCommInitRankScalable(&comm, 2, 0, 3, ids.data(), nullptr), "nId is 3");
  refused(ncclCommInitRank(&comm, 0, ids[0], 0), "rank 0 of 0");
  refused(ncclCommInitRank(nullptr, 1, ids[0], 0), "comm is null");
  refused(ncclCommInitRank(&comm, 1, ncclUniqueId{}, 0), "unique id is not valid");
  CHECK(comm == nullptr);
  refused(ncclCommInitAll(&comm, 0, nullptr), "of 0");
  refused(ncclCommInitAll(&comm, 1, &negative), "devlist[0]");
  refused(ncclGetUniqueId(nullptr), "uniqueId is null");
}

TEST_CASE("null, strange and destroyed communicators are refused") {
  float value = 1;
  const auto call = [&](ncclComm_t comm) {
    return ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr);
  };
  refused(call(nullptr), "the communicator is null");
  refused(call(reinterpret_cast<ncclComm_t>(&value)), "not a communicator of rondo");
  std::vector<ncclComm_t> comms = init_all(1);
  expect(call(comms[0]));
  expect(ncclCommFinalize(comms[0]));
  expect_error(call(comms[0]), ncclInvalidUsage, "finalized");
  expect(ncclCommDestroy(comms[0]));
  refused(call(comms[0]), "was destroyed");
  refused(ncclCommDestroy(comms[0]), ". Try: make another one with ncclCommInitRank");
  refused(ncclCommAbort(comms[0]), "was destroyed");
  CHECK(ncclCommDestroy(nullptr) == ncclSuccess);
  CHECK(ncclCommAbort(nullptr) == ncclSuccess);
  CHECK(ncclCommFinalize(nullptr) == ncclSuccess);
}

TEST_CASE("a call's arguments are checked") {
  with_members(2, [](int rank, ncclComm_t comm) {
    std::vector<float> data(8);
    expect_arguments_checked(rank, comm, data.data(), ncclFloat);
    refused(ncclCommCount(comm, nullptr), "count is null");
    expect_sum(comm, 1, 2);  // and the communicator still works
  });
}

TEST_CASE("an operator belongs to its communicator and type") {
  const std::vector<ncclComm_t> comms = init_all(2);
  float two = 2;
  ncclRedOp_t op = ncclSum;
  expect(ncclRedOpCreatePreMulSum(&op, &two, ncclFloat, ncclScalarHostImmediate, comms[0]));
  float value = 1;
  refused(ncclAllReduce(&value, &value, 1, ncclFloat, op, comms[1], nullptr), "does not exist");
  refused(ncclAllReduce(&value, &value, 1, ncclInt, op, comms[0], nullptr),
          "made for float32, not for int32");
  refused(ncclRedOpDestroy(op, comms[1]), "not made for");
  expect(ncclRedOpDestroy(op, comms[0]));
  refused(ncclAllReduce(&value, &value, 1, ncclFloat, op, comms[0], nullptr), "does not exist");
  refused(ncclRedOpDestroy(ncclSum, comms[0]), "own");
  refused(ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat, ncclScalarDevice, comms[0]),
          "scalar is null");
  destroy(comms);
}

TEST_CASE("ranks that disagree are told so, all of them") {
  const std::vector<ncclComm_t> comms = init_all(3);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    std::vector<float> values(8);
    expect_error(ncclAllReduce(values.data(), values.data(), rank == 2 ? 4 : 8, ncclFloat, ncclSum,
                               comm, nullptr),
                 ncclInvalidUsage, "4 x float32");
    ncclResult_t state = ncclSuccess;
    expect(ncclCommGetAsyncError(comm, &state));
    expect_that(state == ncclInvalidUsage, "the communicator has failed");
    expect(ncclCommAbort(comm));
  });
}

TEST_CASE("abort gets another thread, and the other ranks, out of a call") {
  const std::vector<ncclComm_t> comms = init_all(2);
  std::thread stuck([&] {
    float value = 1;
    // The call ends as the communicator is aborted, or finds it gone if it comes later.
    const ncclResult_t result =
        ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[0], nullptr);
    if (result != ncclRemoteError && result != ncclInvalidArgument) std::terminate();
  });
  expect(ncclCommAbort(comms[0]));
  stuck.join();
  while (settled(comms[1]) == ncclSuccess)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  float value = 1;
  const ncclResult_t result =
      ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[1], nullptr);
  for (const char* const words :
       {"rank 0 reports: the communicator was aborted", "ncclCommAbort was called",
        ". Try: call ncclCommAbort on every rank, and make another communicator"})
    expect_error(result, ncclRemoteError, words);
  expect(ncclCommAbort(comms[1]));
}

TEST_CASE("abort does not wait for ranks that have not joined the communicator yet") {
  ncclUniqueId id = new_id();
  ncclConfig_t config = without_blocking();
  ncclComm_t comm = nullptr;
  expect(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  const auto begin = std::chrono::steady_clock::now();
  expect(ncclCommAbort(comm));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));  // of 60
  // A rank that comes later is told.
  ncclComm_t late = nullptr;
  ncclResult_t state = ncclCommInitRank(&late, 2, id, 1);
  while (state == ncclSuccess) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect(ncclCommGetAsyncError(late, &state));
  }
  CHECK(state == ncclRemoteError);
  expect(ncclCommAbort(late));
}

TEST_CASE("the library's version and error texts") {
  int version = 0;
  expect(ncclGetVersion(&version));
  CHECK(version == 22809);
  ::setenv("RONDO_NCCL_VERSION", "23007", 1);
  expect(ncclGetVersion(&version));
  CHECK(version == 23007);
  ::setenv("RONDO_NCCL_VERSION", "seven", 1);
  expect_error(ncclGetVersion(&version), ncclInvalidUsage, "RONDO_NCCL_VERSION");
  ::unsetenv("RONDO_NCCL_VERSION");
  refused(ncclGetVersion(nullptr), "version is null");
  CHECK(std::string(ncclGetErrorString(ncclSuccess)) == "no error");
  CHECK(std::string(ncclGetErrorString(ncclTimeout)) == "timeout");
  CHECK(std::string(ncclGetErrorString(numbered<ncclResult_t>(-1))) == "unknown result code");
  CHECK(std::string(ncclGetErrorString(ncclNumResults)) == "unknown result code");
}

}  // namespace
}  // namespace rondo::test
