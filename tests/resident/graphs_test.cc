// Co-resident kernels, captured into graphs and replayed.
#include "tests/catch.h"
#include "tests/resident/ranks.h"

namespace rondo::test {
namespace {

TEST_CASE("captured calls that wait are replayed, with other calls between the replays") {
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{20'000});
  const ResidentLaunches launches;
  run_on_own(init_on_own(3), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    DeviceBuffer<int> in(count, 0);
    const DeviceBuffer<int> out(3 * count, 0);
    const DeviceBuffer<int> other(5, 1);
    const CapturedGraph graph(stream, [&] {
      expect(all_reduce(in, count, comm, stream));
      expect(ncclAllGather(in.data(), out.data(), count, ncclInt, comm, stream));
    });
    for (int round = 1; round < 4; ++round) {
      in.set(std::vector<int>(count, round * (rank + 1)));
      graph.launch(stream);
      stream.finish();
      expect_that(out.is_all(round * 6), "this round's sums");
      expect(all_reduce(other, 5, comm, stream, ncclMax));
    }
    stream.finish();
  });
  CHECK(launches.are(3 * (3 * 2 + 3)));
}

TEST_CASE("a graph of a call that waits ends when it is launched after its communicator") {
  const std::vector<ncclComm_t> comms = init_on_own(2);
  cuCtxSetCurrent(device_context(0));
  {
    const DeviceStream stream;
    const DeviceBuffer<int> one(1, 1);
    replay_behind_the_end(comms, stream, [&] { expect(all_reduce(one, 1, comms[0], stream)); });
  }
  while (fake_blocks() > 0) std::this_thread::yield();
}

TEST_CASE("revoking a communicator releases its graph that waits") {
  const std::vector<ncclComm_t> comms = init_on_own(2);
  cuCtxSetCurrent(device_context(0));
  const DeviceStream stream;
  const DeviceBuffer<int> one(1, 1);
  revoke_under_replays(comms, stream, [&] {
    expect(all_reduce(one, 1, comms[0], stream));
    expect(broadcast(one, 1, 1, comms[0], stream));
  });
}

}  // namespace
}  // namespace rondo::test
