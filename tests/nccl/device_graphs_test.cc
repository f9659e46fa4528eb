// Calls captured into graphs and replayed.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

TEST_CASE("a captured call is replayed on new data, between others", "[members]") {
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{1'500'000});
  with_device_members(2, [&](int rank, ncclComm_t comm) {
    replay_call(rank, 2, comm, Collective::all_reduce, count);
  });
}

TEST_CASE("a first call may be a captured one, and a graph may outlive its communicator's calls",
          "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceStream replays;
    const DeviceBuffer<int> buffer(1000, rank + 1);
    const CapturedGraph graph(stream, [&] {
      expect(all_reduce(buffer, 1000, comm, stream));
      expect(all_reduce(buffer, 1000, comm, stream));
    });
    for (int i = 0; i < 3; ++i) graph.launch(replays);  // the host waits for none of them
    expect(all_reduce(buffer, 1000, comm, stream, ncclMax));
    stream.finish();  // the call waits for the replays, which are in another stream
    expect_that(buffer.is_all(3 * 32), "3 doubled 5 times");
  });
}

TEST_CASE("groups with long messages and forked streams are captured", "[members]") {
  constexpr std::size_t count = 1'000'000;
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceStream fork;
    const DeviceBuffer<int> sent(numbers(count, rank));
    const DeviceBuffer<int> received(count, -1);
    const DeviceBuffer<int> sums(1000, 1);
    const cuda::OwnedEvent event = cuda::make_event();
    const CapturedGraph graph(stream, [&] {
      expect_cuda(cuEventRecord(event.get(), stream));
      expect_cuda(cuStreamWaitEvent(fork, event.get(), 0));
      expect(all_reduce(sums, 1000, comm, fork));
      expect(ncclGroupStart());
      expect(ncclSend(sent.data(), count, ncclInt, 1 - rank, comm, stream));
      expect(ncclRecv(received.data(), count, ncclInt, 1 - rank, comm, stream));
      expect(ncclGroupEnd());
      expect_cuda(cuEventRecord(event.get(), fork));
      expect_cuda(cuStreamWaitEvent(stream, event.get(), 0));
    });
    graph.launch(stream);
    graph.launch(stream);
    stream.finish();
    expect_that(received.get() == numbers(count, 1 - rank), "the peer's message");
    expect_that(sums.is_all(4), "1 doubled twice");
  });
}

TEST_CASE("host buffers in a captured stream are read and written at each replay", "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    std::vector<int> values(300'000, rank + 1);
    const CapturedGraph graph(stream,
                              [&] { expect(all_reduce(values, values.size(), comm, stream)); });
    expect_that(values[0] == rank + 1, "nothing happens in a capture");
    graph.launch(stream);
    graph.launch(stream);
    stream.finish();
    expect_that(values == std::vector<int>(values.size(), 6), "3 + 3");
  });
}

TEST_CASE("graphs are destroyed as soon as they have run") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(1000, 1);
  for (int round = 0; round < 200; ++round) {
    const CapturedGraph graph(stream, [&] { expect(all_reduce(buffer, 10, comms[0], stream)); });
    graph.launch(stream);
    stream.finish();
  }
  CHECK(buffer.is_all(1));
  destroy(comms);
}

TEST_CASE("a graph that is launched after its communicator is gone comes to an end") {
  const std::vector<ncclComm_t> comms = init(GENERATE(Way::through_host, Way::between_devices), 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(1000, 1);
  replay_behind_the_end(comms, stream,
                        [&] { expect(broadcast(buffer, 1000, 1, comms[0], stream)); });
  expect_blocks(1);
}

}  // namespace
}  // namespace rondo::test
