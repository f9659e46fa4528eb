// Predicted times of calls by copy engines between 8 GPUs, one for each rank: see
// tests/fake_driver/timeline.h.
#include <cstdio>
#include <memory>

#include "tests/catch.h"
#include "tests/device/machine.h"
#include "tests/nccl/check.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

constexpr int ranks = 8;

/// A call of every rank on its device, on `bytes` of a rank's larger buffer.
struct Timed {
  Collective collective;
  std::size_t bytes;

  /// The bytes that go into each GPU, and out of it, at least.
  double least_bytes() const {
    if (collective == Collective::send_recv) return static_cast<double>(bytes);
    const double others = static_cast<double>(bytes) * (ranks - 1) / ranks;
    return collective == Collective::all_reduce ? 2 * others : others;
  }
  double roofline() const { return least_bytes() / device::test::Machine{}.link_bandwidth; }
};

/// One rank's memory and stream, on its device, which is current.
class TimedRank {
 public:
  TimedRank(const Timed& call, int rank, ncclComm_t comm)
      : call_(call), rank_(rank), comm_(comm), memory_(call.bytes / 4), other_(call.bytes / 4) {}

  void run() const {
    const std::size_t all = call_.bytes / sizeof(float);
    const std::size_t block = all / ranks;
    float* const memory = memory_.data();
    float* const mine = memory + static_cast<std::size_t>(rank_) * block;
    switch (call_.collective) {
      case Collective::all_reduce:
        expect(ncclAllReduce(memory, memory, all, ncclFloat, ncclSum, comm_, stream_));
        break;
      case Collective::all_gather:
        expect(ncclAllGather(mine, memory, block, ncclFloat, comm_, stream_));
        break;
      case Collective::reduce_scatter:
        expect(ncclReduceScatter(memory, mine, block, ncclFloat, ncclSum, comm_, stream_));
        break;
      default:
        expect(ncclGroupStart());
        expect(ncclSend(memory, all, ncclFloat, (rank_ + 1) % ranks, comm_, stream_));
        expect(
            ncclRecv(other_.data(), all, ncclFloat, (rank_ + ranks - 1) % ranks, comm_, stream_));
        expect(ncclGroupEnd());
    }
    stream_.finish();
  }

 private:
  Timed call_;
  int rank_;
  ncclComm_t comm_;
  DeviceStream stream_{};
  DeviceBuffer<float> memory_, other_;
};

/// The seconds of the second such call.
double predicted(const Timed& call) {
  const Setting executor("RONDO_DEVICE_EXECUTOR", "finite");
  const std::vector<ncclComm_t> comms = init_on({0, 1, 2, 3, 4, 5, 6, 7});
  std::vector<std::unique_ptr<TimedRank>> all(ranks);
  const auto on_each = [&](const auto& body) {
    each_member(comms, [&](int rank, ncclComm_t comm) {
      enter(comm);
      body(rank, comm, all[static_cast<std::size_t>(rank)]);
    });
  };
  on_each([&](int rank, ncclComm_t comm, auto& mine) {
    mine = std::make_unique<TimedRank>(call, rank, comm);
    mine->run();
  });
  fake_note_times();
  on_each([&](int, ncclComm_t, auto& mine) { mine->run(); });
  const double seconds = fake_predicted_seconds();
  on_each([&](int, ncclComm_t, auto& mine) { mine.reset(); });
  destroy(comms);
  return seconds;
}

TEST_CASE("each byte of a call of one slice costs little more than its links need: no convoy") {
  if (lacks_kernels()) return;
  const auto collective =
      GENERATE(Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter);
  const Timed small{collective, std::size_t{1} << 20};
  const Timed large{collective, std::size_t{4} << 20};
  const double seconds = predicted(large);
  const double more = seconds - predicted(small);
  CAPTURE(seconds * 1e6, more * 1e6, large.roofline() * 1e6);
  const double least = large.roofline() - small.roofline();
  CHECK(more > least);
  CHECK(more < 1.4 * least);  // reductions load and store, too; a convoy takes 7 times as long
  CHECK(seconds - large.roofline() < 90e-6);  // flags, and what begins copies and kernels
  CHECK(predicted(large) == Approx(seconds).epsilon(1e-6));
}

TEST_CASE("what goes through staging buffers is slower than its links, and how much") {
  if (lacks_kernels()) return;
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const auto [collective, most] = GENERATE(
      table<Collective, double>({{Collective::all_reduce, 6}, {Collective::send_recv, 11}}));
  const Timed call{collective, bytes};
  const double seconds = predicted(call);
  CAPTURE(seconds * 1e6, call.roofline() * 1e6);
  CHECK(seconds > call.roofline());
  CHECK(seconds < most * call.roofline());
  CHECK(predicted(call) == Approx(seconds).epsilon(1e-6));
}

const char* name_of(Collective collective) {
  return collective == Collective::send_recv ? "send_recv" : info(collective).name.data();
}

/// Prints a table, where it is asked for: nccl_device_times_test [.table]
TEST_CASE("times of calls by copy engines between 8 GPUs", "[.table]") {
  if (lacks_kernels()) return;
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::send_recv}) {
    for (const std::size_t megabytes : {1, 4, 16, 64}) {
      const Timed call{collective, megabytes << 20};
      const double seconds = predicted(call);
      std::printf("%-14s %3zu MB  %7.1f us  links need %6.1f us\n", name_of(collective), megabytes,
                  seconds * 1e6, call.roofline() * 1e6);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace rondo::test
