// Host pointers that are wrong though not null, in a process without CUDA. With
// NCCL_CHECK_POINTERS=1 each gives ncclInvalidArgument before anything is sent, and the next call
// works.
#include <numeric>

#include "tests/catch.h"
#include "tests/nccl/wrong_pointers.h"
#include "tests/support/setting.h"

namespace rondo::test {
namespace {

/// An address that is never allocated. A freed one may be another thread's by now.
int* nobodys_address() { return reinterpret_cast<int*>(std::uintptr_t{0x12340}); }

/// Checks that calls work after refusals.
void expect_to_work(int rank, ncclComm_t comm) {
  int value = rank + 1;
  expect(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr));
  expect_that(value == 3, "the sum");
}

void expect_refusals_of_all(std::size_t count) {
  run_members(init_all(2), [&](int rank, ncclComm_t comm) {
    const GuardedPage guarded;
    std::vector<int> good(2 * count + 2, rank);
    for (int* const wrong : {nobodys_address(), guarded.guard()})
      expect_refusals(rank, comm, wrong, good.data(), count);
    expect_that(good == std::vector<int>(good.size(), rank), "a refused call has changed nothing");
    expect_to_work(rank, comm);
  });
}

TEST_CASE("NCCL_CHECK_POINTERS=1 checks the buffers of every call") {
  const Setting set("NCCL_CHECK_POINTERS", "1");  // read as communicators are made
  expect_refusals_of_all(2);
}

TEST_CASE("a buffer that ends before the call's last byte is refused") {
  const Setting set("NCCL_CHECK_POINTERS", "1");  // read as communicators are made
  run_members(init_all(2), [&](int rank, ncclComm_t comm) {
    const GuardedPage guarded;
    const std::size_t fitting = GuardedPage::bytes / sizeof(int);
    std::iota(guarded.data(), guarded.guard(), 0);
    refused(all_reduce(guarded, fitting + 1, comm, nullptr),
            "the input begins in memory of the host at ");
    refused(all_reduce(guarded, fitting + 1, comm, nullptr), "but the last of its 4100 bytes, at ");
    expect(all_reduce(guarded, fitting, comm, nullptr));
    expect_that(guarded.data()[fitting - 1] == 2 * static_cast<int>(fitting - 1), "the sum");
    expect_to_work(rank, comm);
  });
}

TEST_CASE("a buffer that a rank has no part in is not checked") {
  const Setting set("NCCL_CHECK_POINTERS", "1");  // read as communicators are made
  run_members(init_all(2), [&](int rank, ncclComm_t comm) {
    int* const wrong = nobodys_address();
    int value = rank;
    expect(ncclBroadcast(rank == 1 ? &value : wrong, &value, 1, ncclInt, 1, comm, nullptr));
    expect_that(value == 1, "the broadcast");
    expect(ncclReduce(&value, rank == 0 ? &value : wrong, 1, ncclInt, ncclSum, 0, comm, nullptr));
    expect(ncclAllReduce(wrong, wrong, 0, ncclInt, ncclSum, comm, nullptr));
    expect_to_work(rank, comm);
  });
}

}  // namespace
}  // namespace rondo::test
