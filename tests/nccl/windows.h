// Device memory that all ranks of a communicator have registered together.
#pragma once

#include <array>

#include "tests/nccl/between_devices.h"
#include "tests/nccl/check.h"
#include "tests/nccl/together.h"
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
  with_ranks(2, across, body);
}

/// Two ranks on device 0, from one thread, with memory that both have registered.
template <class T>
struct TwoRanks {
  explicit TwoRanks(std::size_t count)
      : first(count, T{1}), second(count, T{1}), bytes(count * sizeof(T)) {
    add_windows();
  }
  /// Makes a window on the whole memory, once more.
  void add_windows() {
    on_all_ranks(2, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      expect(ncclCommWindowRegister(comms[at], (rank == 0 ? first : second).data(), bytes,
                                    &windows[at].emplace_back(), NCCL_WIN_COLL_SYMMETRIC));
    });
  }

  std::vector<ncclComm_t> comms{init_on_device(2)};
  DeviceBuffer<T> first;
  DeviceBuffer<T> second;
  std::size_t bytes;
  std::array<std::vector<ncclWindow_t>, 2> windows{};
};

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

/// The copies of so many calls on windows. Without kernels they are staged.
constexpr std::size_t in_windows(std::size_t calls) { return calls * (has_kernels ? 1 : 4); }

/// with_two(), whose streams copy a rank's numbers so often: both ranks together once for a call on
/// windows, and four times for one that is staged. Nothing is left of their memory.
template <class Body>
void with_copies(std::size_t copies, bool across, Body&& body) {
  const int blocks = fake_blocks();
  const std::size_t before = fake_copied_bytes();
  with_two(across, body);
  CHECK((fake_copied_bytes() - before) / (summed_count * sizeof(int)) == copies);
  expect_blocks(blocks);
  CHECK(fake_descriptors() == 0);
}

}  // namespace rondo::test
