// Windows on memory of cuMemCreate, with ranks as threads. Ranks as processes:
// device_processes_test.py.
#include <optional>

#include "tests/catch.h"
#include "tests/nccl/segments.h"
#include "tests/nccl/windows.h"
#include "tests/support/setting.h"

namespace rondo::test {
namespace {

constexpr std::size_t count = summed_count;

TEST_CASE("calls use windows on segments", "[fake]") {
  const std::size_t before = GENERATE(std::size_t{count}, count / 2, std::size_t{0});  // segment 1
  const int handles = GENERATE(0, cuda::file_descriptor);  // within a process 0 will do
  with_calls_in_windows(1, [&](int rank, ncclComm_t comm) {
    const Segments memory(2, handles);
    int* const data = memory.segment(1) - before;
    const Window window(comm, data, count * sizeof(int));
    sum_in_place(comm, data, rank);
  });
}

TEST_CASE("a window over a whole segment between two others", "[fake]") {
  with_calls_in_windows(2, [](int rank, ncclComm_t comm) {
    const Segments memory(3);
    int* const data = memory.segment(1) - 10;
    const auto bytes = static_cast<std::size_t>(memory.segment(2) - data + 10) * sizeof(int);
    const Window window(comm, data, bytes);
    sum_in_place(comm, data, rank);
    sum_in_place(comm, memory.segment(2) + 10 - count, rank);
  });
}

TEST_CASE("two windows on the same segments, made again and again", "[fake]") {
  with_calls_in_windows(6, [](int rank, ncclComm_t comm) {
    const Segments memory(2);
    for (int round = 0; round < 3; ++round) {
      const Window first(comm, memory.data(), count * sizeof(int));
      const Window second(comm, memory.segment(1) - 5, count * sizeof(int));
      sum_in_place(comm, memory.segment(1) - 5, rank);
      sum_in_place(comm, memory.data(), rank);
    }
  });
}

TEST_CASE("a window over a few of many segments ends where it should", "[fake]") {
  with_calls_in_windows(1, [](int rank, ncclComm_t comm) {
    const Segments memory(12);
    int* const data = memory.segment(6) - 10;
    const Window window(comm, data, count * sizeof(int));
    sum_in_place(comm, data, rank);
    sum_in_place(comm, data + 1, rank);
    sum_in_place(comm, data - 1, rank);
    sum_in_place(comm, memory.segment(3), rank);
  });
}

TEST_CASE("an owner frees memory whose window a peer still has, and all go on", "[fake]") {
  with_calls_in_windows(2, [](int rank, ncclComm_t comm) {
    std::optional<Segments> memory(std::in_place, std::size_t{2});
    std::optional<Window> window(std::in_place, comm, memory->data(), count * sizeof(int));
    sum_in_place(comm, memory->data(), rank);
    if (rank == 0) window.reset();
    if (rank == 0) memory.reset();
    const Segments next(2);  // perhaps where the old ones were
    const Window again(comm, next.data(), count * sizeof(int));
    sum_in_place(comm, next.data(), rank);
  });
}

TEST_CASE("memory that reaches beyond one rank's mapped segments is no window on any rank",
          "[fake]") {
  with_calls_in_windows(0, [](int rank, ncclComm_t comm) {
    const Segments whole(2);
    const Segments brief(1);
    int* const data = rank == 1 ? brief.segment(1) - 5 : whole.segment(1) - 5;
    const Window window(comm, data, count * sizeof(int));
    sum_in_place(comm, whole.data(), rank);
  });
}

TEST_CASE("a driver that does not open segments to a peer leaves all ranks staged", "[fake]") {
  with_calls_in_windows(0, [](int rank, ncclComm_t comm) {
    const Segments memory(1);
    expect_sum(comm, 1, 2);  // on the host: now both have their segments
    if (rank == 0) fake_fail_next("cuMemSetAccess", 801);
    const Window window(comm, memory.data(), count * sizeof(int));
    sum_in_place(comm, memory.data(), rank);
  });
}

}  // namespace
}  // namespace rondo::test
