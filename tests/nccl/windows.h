// Device memory that all ranks of a communicator have registered together.
#pragma once

#include "tests/nccl/between_devices.h"
#include "tests/nccl/check.h"
#include "tests/nccl/kernels.h"
#include "tests/support/setting.h"

namespace rondo::test {

/// All-reduces `count` of every rank's numbers there, and checks what comes.
inline void sum_up(ncclComm_t comm, const DeviceBuffer<int>& buffer, std::size_t count, int rank,
                   int ranks) {
  const DeviceStream stream;
  DeviceBuffer<int> out(count, -1);
  const std::vector<int> values = numbers(count, rank);
  device_upload(buffer.data(), values.data(), count * sizeof(int));
  expect(ncclAllReduce(buffer.data(), out.data(), count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(out.get(), ranks, 0, "all_reduce");
}

constexpr std::size_t summed_count = 40'000;

/// Runs body(rank, comm) on a thread for each of two ranks, on a device each or on one.
template <class Body>
void with_two(bool across, Body&& body) {
  const Setting executor("RONDO_DEVICE_EXECUTOR", "finite");  // a kernel would need no window
  const EachForItself apart;
  with_unique_id(2, [&](int rank, const ncclUniqueId& id) {
    cuCtxSetCurrent(device_context(across ? rank : 0));
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRank(&comm, 2, id, rank));
    body(rank, comm);
    expect(ncclCommDestroy(comm));
  });
}

/// All-reduces two ranks' numbers in place, `summed_count` of each.
inline void sum_in_place(ncclComm_t comm, int* data, int rank) {
  const DeviceStream stream;
  const std::vector<int> mine = numbers(summed_count, rank);
  device_upload(data, mine.data(), summed_count * sizeof(int));
  expect(ncclAllReduce(data, data, summed_count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  std::vector<int> got(summed_count);
  device_download(got.data(), data, summed_count * sizeof(int));
  expect_sums(got, 2, 0, "all_reduce");
}

/// How often streams have copied a rank's numbers since they had copied `before` bytes. Both
/// ranks together copy once for a call on windows, and four times for one that is staged.
inline std::size_t copies_since(std::size_t before) {
  return (fake_copied_bytes() - before) / (summed_count * sizeof(int));
}

/// What copies_since() says after so many calls on windows. Without kernels they are staged.
constexpr std::size_t in_windows(std::size_t calls) { return calls * (has_kernels ? 1 : 4); }

}  // namespace rondo::test
