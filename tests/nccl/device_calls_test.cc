// Calls on device buffers, in the order of their streams: every collective, messages, groups.
#include <memory>

#include "core/schedule/layout.h"
#include "tests/catch.h"
#include "tests/nccl/check.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

TEST_CASE("every collective on device buffers", "[members]") {
  const int ranks = GENERATE(from_range(cells<int>({1, 2, 3}, {3})));
  // One element; less than a slot; several slots; more slices than a lane has slots.
  const std::size_t count =
      GENERATE(from_range(cells<std::size_t>({1, 1000, 300'000, 1'500'000}, {1000, 1'500'000})));
  std::vector<Case> cases = every_collective(count, ranks - 1);
  if (count > 1'000'000) {
    for (Case& each : cases)  // of all blocks together
      each.call.count /= is_vector(each.call.collective) ? 1 : static_cast<std::uint64_t>(ranks);
    if (is_sanitized) std::erase_if(cases, [](const Case& each) { return each.in_place; });
  }
  with_device_members(ranks,
                      [&](int rank, ncclComm_t comm) { check_calls(rank, ranks, comm, cases); });
}

TEST_CASE("a call on device buffers returns at once, and follows its stream", "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    DeviceBuffer<int> buffer(1000, 0);
    const DeviceBuffer<int> late(numbers(1000, rank));
    const DeviceBuffer<int> result(1000, 0);
    StreamGate gate(stream);
    const auto copy = [&](const DeviceBuffer<int>& to, const DeviceBuffer<int>& from) {
      expect_cuda(cuMemcpyAsync(cuda::address_of(to.data()), cuda::address_of(from.data()),
                                1000 * sizeof(int), stream));
    };
    copy(buffer, late);  // the call must see this
    expect(all_reduce(buffer, 1000, comm, stream));
    copy(result, buffer);  // and this must see the call
    expect_that(buffer.is_all(0), "nothing happens before the stream does");
    gate.open();
    stream.finish();
    expect_equal(result.get(), sums_of_numbers(1000, 2), "all_reduce");
  });
}

TEST_CASE("a communicator used from several streams keeps its order", "[members]") {
  with_device_members(2, [](int /*rank*/, ncclComm_t comm) {
    const DeviceStream first;
    const DeviceStream second;
    const DeviceBuffer<int> one(400'000, 1);
    const DeviceBuffer<int> two(8, 2);
    StreamGate gate(first);
    expect(all_reduce(one, 400'000, comm, first));
    expect(all_reduce(two, 8, comm, second));
    gate.open();
    second.finish();
    expect_that(one.is_all(2), "the first call came first");
    expect_that(two.is_all(4), "the second call");
  });
}

TEST_CASE("two communicators, called in a different order on each rank, and a child of one") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  call_in_two_orders(init(way, 2), init(way, 2));
}

TEST_CASE("a call may mix host and device buffers, and calls on the host follow it", "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> device(600'000, rank + 1);
    std::vector<int> host(600'000, -1);
    expect(ncclAllReduce(device.data(), host.data(), host.size(), ncclInt, ncclSum, comm, stream));
    stream.finish();
    expect_that(host == std::vector<int>(host.size(), 3), "device to host");
    expect(ncclAllReduce(host.data(), device.data(), host.size(), ncclInt, ncclSum, comm, stream));
    expect_sum(comm, 1, 2);  // on the host, after the call in the stream
    expect_that(device.is_all(6), "host to device");
  });
}

TEST_CASE("long messages between devices whose ranks wait for each other in a circle",
          "[members]") {
  // Rank 1 sends on only what it has received, so rank 0's receive waits for its send.
  constexpr std::size_t count = 2'000'000;
  with_device_members(3, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> sent(numbers(count, 7));
    const DeviceBuffer<int> received(count, -1);
    if (rank == 0) {
      expect(ncclGroupStart());
      expect(ncclRecv(received.data(), count, ncclInt, 2, comm, stream));
      expect(ncclSend(sent.data(), count, ncclInt, 1, comm, stream));
      expect(ncclGroupEnd());
    } else {
      expect(ncclRecv(received.data(), count, ncclInt, rank - 1, comm, stream));
      expect(ncclSend(received.data(), count, ncclInt, (rank + 1) % 3, comm, stream));
    }
    stream.finish();
    expect_equal(received.get(), numbers(count, 7), "message");
  });
}

TEST_CASE("one thread runs all ranks of several communicators in a group, messages and all") {
  const std::vector<ncclComm_t> comms = init_through_host(3);
  const std::vector<DeviceStream> streams(3);
  const std::vector<DeviceStream> others(3);
  const DeviceBuffer<int> sums(3, 5);
  const DeviceBuffer<int> sent(std::vector<int>{1, 2, 3});
  const DeviceBuffer<int> received(3, -1);
  expect(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    expect(ncclAllReduce(sums.data() + at, sums.data() + at, 1, ncclInt, ncclSum, comms[at],
                         streams[at]));
    expect(ncclSend(sent.data() + at, 1, ncclInt, (rank + 1) % 3, comms[at], streams[at]));
    expect(ncclRecv(received.data() + at, 1, ncclInt, (rank + 2) % 3, comms[at], streams[at]));
    expect(ncclSend(sent.data() + at, 1, ncclInt, rank, comms[at], others[at]));
    expect(ncclRecv(sent.data() + at, 1, ncclInt, rank, comms[at], streams[at]));
  }
  expect(ncclGroupEnd());
  for (const DeviceStream& stream : streams) stream.finish();
  CHECK(sums.get() == std::vector<int>{15, 15, 15});
  CHECK(received.get() == std::vector<int>{3, 1, 2});
  CHECK(sent.get() == std::vector<int>{1, 2, 3});
  destroy(comms);
}

TEST_CASE("collectives and messages of a group are matched in the order of their calls",
          "[members]") {
  // Long ones come first and last. Slices of all are ready at once, at other times on each rank.
  const std::vector<std::size_t> counts{1'500'000, 3, 700'000, 100'000};
  with_device_members(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    std::vector<std::unique_ptr<DeviceBuffer<int>>> sums;
    std::vector<std::unique_ptr<DeviceBuffer<int>>> sent;
    std::vector<std::unique_ptr<DeviceBuffer<int>>> received;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int value = static_cast<int>(i) + 1;
      sums.push_back(std::make_unique<DeviceBuffer<int>>(counts[i], value));
      sent.push_back(std::make_unique<DeviceBuffer<int>>(counts[i], 100 * value + rank));
      received.push_back(std::make_unique<DeviceBuffer<int>>(counts[i], -1));
    }
    for (int round = 0; round < 5; ++round) {
      expect(ncclGroupStart());
      for (std::size_t i = 0; i < counts.size(); ++i) {
        expect(ncclAllReduce(sums[i]->data(), sums[i]->data(), counts[i], ncclInt, ncclSum, comm,
                             stream));
        expect(ncclSend(sent[i]->data(), counts[i], ncclInt, 1 - rank, comm, stream));
        expect(ncclRecv(received[i]->data(), counts[i], ncclInt, 1 - rank, comm, stream));
      }
      expect(ncclGroupEnd());
    }
    stream.finish();
    ncclResult_t result = ncclInternalError;
    expect(ncclCommGetAsyncError(comm, &result));
    expect(result);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int value = static_cast<int>(i) + 1;
      expect_equal(sums[i]->get(), std::vector<int>(counts[i], 32 * value), "sum");
      expect_equal(received[i]->get(), std::vector<int>(counts[i], 100 * value + 1 - rank),
                   "message");
    }
  });
}

TEST_CASE("a rank's own operators, with a scalar on the host or the device", "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    check_scaled(rank, comm, 700'000);
    const DeviceBuffer<float> scalar(1, 0);
    ncclRedOp_t op = ncclSum;
    refused(ncclRedOpCreatePreMulSum(&op, scalar.data(), ncclFloat, ncclScalarHostImmediate, comm),
            "the scalar is device memory");
  });
}

TEST_CASE("split communicators, ncclMemAlloc and registrations work on a device", "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    void* memory = nullptr;
    expect(ncclMemAlloc(&memory, 4000));
    expect_that(cuda::is_device_memory(memory), "device memory");
    void* handle = nullptr;
    expect(ncclCommRegister(comm, memory, 4000, &handle));
    const std::vector<int> mine(1000, rank + 1);
    device_upload(memory, mine.data(), 4000);
    expect(ncclAllReduce(memory, memory, 1000, ncclInt, ncclSum, comm, stream));
    ncclComm_t half = nullptr;
    expect(ncclCommSplit(comm, 0, 1 - rank, &half, nullptr));  // after the call in the stream
    expect(ncclAllReduce(memory, memory, 1000, ncclInt, ncclSum, half, stream));
    expect(ncclCommDestroy(half));  // waits for it
    std::vector<int> got(1000);
    device_download(got.data(), memory, 4000);
    expect_that(got == std::vector<int>(1000, 6), "3 + 3");
    expect(ncclCommDeregister(comm, handle));
    expect(ncclMemFree(memory));
  });
}

TEST_CASE("an empty call on a device takes part", "[members]") {
  with_device_members(2, [](int, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(1, 1);
    expect(all_reduce(buffer, 0, comm, stream));
    expect(all_reduce(buffer, 1, comm, stream));
    stream.finish();
    expect_that(buffer.get() == std::vector<int>{2}, "1 + 1");
  });
}

}  // namespace
}  // namespace rondo::test
