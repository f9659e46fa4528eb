// NCCL communicators for tests: ranks as threads of this process, and what calls return.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/nccl/include/nccl.h"
#include "core/nccl/include/rondo/nccl.h"
#include "tests/support/threads.h"

namespace rondo::test {

/// A number as a C program can pass it, whether the enum has it or not.
template <class Enum>
Enum numbered(int number) {
  static_assert(sizeof(Enum) == sizeof number);
  Enum value;
  std::memcpy(&value, &number, sizeof value);
  return value;
}

/// Throws unless `result` is `wanted`: a test's threads cannot use Catch's macros.
inline void expect(ncclResult_t result, ncclResult_t wanted = ncclSuccess) {
  if (result == wanted) return;
  throw std::runtime_error(std::string("got \"") + ncclGetErrorString(result) + "\", not \"" +
                           ncclGetErrorString(wanted) +
                           "\"; last error: " + ncclGetLastError(nullptr));
}

/// Throws unless `result` is `wanted` and the error text contains `part`.
inline void expect_error(ncclResult_t result, ncclResult_t wanted, const std::string& part) {
  expect(result, wanted);
  const std::string words = ncclGetLastError(nullptr);
  if (words.find(part) == std::string::npos)
    throw std::runtime_error("\"" + part + "\" is not in: " + words);
}

/// The same for what a program may not pass.
inline void refused(ncclResult_t result, const std::string& part) {
  expect_error(result, ncclInvalidArgument, part);
}

inline ncclUniqueId new_id() {
  ncclUniqueId id{};
  expect(ncclGetUniqueId(&id));
  return id;
}

inline std::vector<ncclComm_t> init_all(int ranks) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  expect(ncclCommInitAll(comms.data(), ranks, nullptr));
  return comms;
}

/// Settings of communicators that do not block.
inline ncclConfig_t without_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

inline void destroy(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) expect(ncclCommDestroy(comm));
}

inline void abort_all(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

/// Runs body(rank, comm) on a thread for each of the communicator's ranks. Where one fails, its
/// communicator is aborted: the others would wait for it.
template <class Body>
void each_member(const std::vector<ncclComm_t>& comms, Body&& body) {
  FirstOfThreads failure;
  on_all_ranks(static_cast<int>(comms.size()), [&](int rank) {
    const ncclComm_t comm = comms[static_cast<std::size_t>(rank)];
    try {
      body(rank, comm);
    } catch (...) {
      failure.note();
      ncclCommAbort(comm);
    }
  });
  failure.rethrow();
}

/// The same, and destroys the communicator.
template <class Body>
void run_members(const std::vector<ncclComm_t>& comms, Body&& body) {
  each_member(comms, body);
  destroy(comms);
}

/// The same with a new communicator.
template <class Body>
void with_members(int ranks, Body&& body) {
  run_members(init_all(ranks), body);
}

/// The communicator's failure, which comes in its own time.
inline ncclResult_t failure_of(ncclComm_t comm) {
  ncclResult_t result = ncclSuccess;
  while (result == ncclSuccess || result == ncclInProgress) {
    expect(ncclCommGetAsyncError(comm, &result));
    std::this_thread::yield();
  }
  return result;
}

/// Throws unless the last error's text contains `part`.
inline void expect_last_error(ncclComm_t comm, const std::string& part) {
  const std::string words = ncclGetLastError(comm);
  expect_that(words.find(part) != std::string::npos, words);
}

/// Runs body(rank, id) on a thread for each rank, to make communicators with.
template <class Body>
void with_unique_id(int ranks, Body&& body) {
  const ncclUniqueId id = new_id();
  on_all_ranks(ranks, [&](int rank) { body(rank, id); });
}

/// Sums `values` over the communicator's ranks and checks every element.
inline void expect_sum(ncclComm_t comm, float mine, float sum, std::size_t count = 100) {
  std::vector<float> values(count, mine);
  expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, ncclSum, comm, nullptr));
  for (const float value : values) {
    expect_that(value == sum, std::to_string(value) + " == " + std::to_string(sum));
  }
}

/// Asks until nothing is in progress, and returns the communicator's state. Ends, as calls do.
inline ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    expect(ncclCommGetAsyncError(comm, &state));
    std::this_thread::yield();
  }
  return state;
}

/// Communicators that do not block, when all are made.
inline std::vector<ncclComm_t> init_without_blocking(int ranks) {
  const ncclUniqueId id = new_id();
  ncclConfig_t config = without_blocking();
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    ncclComm_t& comm = comms[static_cast<std::size_t>(rank)];
    expect(ncclCommInitRankConfig(&comm, ranks, id, rank, &config), ncclInProgress);
  }
  for (const ncclComm_t comm : comms) expect(settled(comm));
  return comms;
}

/// Calls in place on the first `count` ints of a buffer.
template <class Buffer>
ncclResult_t all_reduce(Buffer& buffer, std::size_t count, ncclComm_t comm, cudaStream_t stream,
                        ncclRedOp_t op = ncclSum) {
  return ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, op, comm, stream);
}
template <class Buffer>
ncclResult_t broadcast(Buffer& buffer, std::size_t count, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer.data(), buffer.data(), count, ncclInt, root, comm, stream);
}

}  // namespace rondo::test
