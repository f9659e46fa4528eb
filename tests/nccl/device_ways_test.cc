// Calls of one communicator through the host's memory and calls between devices, in streams of
// their own: each begins after the one before.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

constexpr std::size_t count = 3000;

/// What each rank has: two streams, a buffer, and host memory that calls in streams write.
struct Rank {
  explicit Rank(int rank) : buffer(numbers(count, rank)) {}
  DeviceStream through_host{};
  DeviceStream on_device{};
  DeviceBuffer<int> buffer;
  std::vector<int> host = std::vector<int>(2 * count, -1);

  /// Rank 1's buffer becomes everybody's, from device to device.
  void spread(ncclComm_t comm) const { expect(broadcast(buffer, count, 1, comm, on_device)); }
  /// Gathers both ranks' buffers as they are then, through the host, as the output is there.
  void gather(ncclComm_t comm) {
    expect(ncclAllGather(buffer.data(), host.data(), count, ncclInt, comm, through_host));
  }
  void expect_gathered(int first, int second, const std::string& when) const {
    std::vector<int> wanted = numbers(count, first);
    const std::vector<int> rest = numbers(count, second);
    wanted.insert(wanted.end(), rest.begin(), rest.end());
    expect_that(host == wanted, when);
  }
};

TEST_CASE("a call through the host begins after one between devices in another stream") {
  const int before = device_parts();
  with_devices(2, [](int rank, ncclComm_t comm) {
    Rank mine(rank);
    StreamGate gate(mine.on_device);
    mine.spread(comm);
    mine.gather(comm);
    expect_that(mine.host == std::vector<int>(2 * count, -1), "nothing happens yet");
    gate.open();
    mine.through_host.finish();
    mine.expect_gathered(1, 1, "the broadcast came first");
    mine.on_device.finish();
  });
  CHECK((device_parts() > before || fake_launches() < 0));
}

TEST_CASE("a call between devices begins after one through the host in another stream") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    Rank mine(rank);
    StreamGate gate(mine.through_host);
    mine.gather(comm);
    mine.spread(comm);
    expect_that(mine.buffer.get() == numbers(count, rank), "nothing happens yet");
    gate.open();
    mine.on_device.finish();
    expect_that(mine.buffer.get() == numbers(count, 1), "the broadcast");
    mine.through_host.finish();
    mine.expect_gathered(0, 1, "the broadcast came second");
  });
}

TEST_CASE("calls of both ways keep their order within graphs, and after their replays") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    Rank mine(rank);
    const cuda::OwnedEvent fork = cuda::make_event();
    const cuda::OwnedEvent back = cuda::make_event();
    {
      const CapturedGraph graph(mine.through_host, [&] {
        expect_cuda(cuEventRecord(fork.get(), mine.through_host));
        expect_cuda(cuStreamWaitEvent(mine.on_device, fork.get(), 0));
        mine.spread(comm);
        mine.gather(comm);
        expect_cuda(cuEventRecord(back.get(), mine.on_device));
        expect_cuda(cuStreamWaitEvent(mine.through_host, back.get(), 0));
      });
      for (int round = 1; round < 4; ++round) {
        mine.buffer.set(numbers(count, 10 * round + rank));
        StreamGate gate(mine.through_host);
        graph.launch(mine.through_host);
        mine.spread(comm);  // after the replay, in another stream
        gate.open();
        mine.on_device.finish();
        mine.expect_gathered(10 * round + 1, 10 * round + 1, "the replay's gathering");
      }
    }
    mine.through_host.finish();
  });
}

}  // namespace
}  // namespace rondo::test
