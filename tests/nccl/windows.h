// Device memory that all ranks of a communicator have registered together.
#pragma once

#include <array>
#include <optional>

#include "tests/nccl/between_devices.h"
#include "tests/nccl/check.h"
#include "tests/nccl/together.h"

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

/// Two ranks on a device each, from one thread, with memory that both have registered.
template <class T>
struct TwoRanks {
  explicit TwoRanks(std::size_t count) : bytes(count * sizeof(T)) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      cuCtxSetCurrent(device_context(static_cast<int>(rank)));
      memory[rank].emplace(count, T{1});
      streams[rank].emplace();
    }
    add_windows();
    cuCtxSetCurrent(device_context(0));
  }
  ~TwoRanks() {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      cuCtxSetCurrent(device_context(static_cast<int>(rank)));
      streams[rank].reset();
      memory[rank].reset();
    }
    cuCtxSetCurrent(device_context(0));
  }
  TwoRanks(const TwoRanks&) = delete;
  TwoRanks& operator=(const TwoRanks&) = delete;

  /// Makes a window on the whole memory, once more.
  void add_windows() {
    on_all_ranks(2, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      cuCtxSetCurrent(device_context(rank));
      expect(ncclCommWindowRegister(comms[at], memory[at]->data(), bytes,
                                    &windows[at].emplace_back(), NCCL_WIN_COLL_SYMMETRIC));
    });
  }
  /// Puts an all-reduce of all its memory into the rank's stream.
  ncclResult_t call(std::size_t rank) {
    cuCtxSetCurrent(device_context(static_cast<int>(rank)));
    return all_reduce(*memory[rank], bytes / sizeof(T), comms[rank], *streams[rank]);
  }

  std::vector<ncclComm_t> comms{init_on({0, 1})};
  std::array<std::optional<DeviceBuffer<T>>, 2> memory{};
  std::array<std::optional<DeviceStream>, 2> streams{};
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

/// Runs body(rank, comm) on a thread for each of two ranks on a device each, whose calls use windows so
/// often. Nothing is left of their memory.
template <class Body>
void with_calls_in_windows(int calls, Body&& body) {
  const int blocks = fake_blocks();
  const int before = fake_window_launches();
  with_ranks(2, true, body);
  CHECK(fake_window_launches() - before == (has_kernels ? 2 * calls : 0));
  expect_blocks(blocks);
  CHECK(fake_descriptors() == 0);
}

}  // namespace rondo::test
