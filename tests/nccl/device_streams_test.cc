// Limits of the driver: what streams, their queues, captures and contexts must not do to a program.
#include <atomic>
#include <numeric>

#include "tests/catch.h"
#include "tests/nccl/device.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

TEST_CASE("one thread's group is longer than the queues", "[fake]") {
  // 20 slices of a collective, 77 of a message; 6 and 23, with several entries each.
  constexpr std::size_t count = is_sanitized ? 1'500'000 : 5'000'000;
  const bool one_stream = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_through_host(2);
  const std::vector<DeviceStream> streams(2);
  const DeviceBuffer<int> sent(numbers(count, 3));
  const DeviceBuffer<int> received(count, -1);
  const DeviceBuffer<int> sums(2 * count, 1);
  const auto stream_of = [&](std::size_t rank) -> cudaStream_t {
    return streams[one_stream ? 0 : rank];
  };
  const LimitedQueues limit(16);
  for (const bool collective : {false, true}) {
    expect(ncclGroupStart());
    if (!collective) expect(ncclSend(sent.data(), count, ncclInt, 1, comms[0], stream_of(0)));
    if (!collective) expect(ncclRecv(received.data(), count, ncclInt, 0, comms[1], stream_of(1)));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      int* const values = sums.data() + rank * count;
      expect(ncclAllReduce(values, values, count, ncclInt, ncclSum, comms[rank], stream_of(rank)));
    }
    expect(ncclGroupEnd());
  }
  for (const DeviceStream& stream : streams) stream.finish();
  CHECK(received.get() == numbers(count, 3));
  CHECK(sums.is_all(4));
  CHECK(fake_longest_queue() <= 17);
  destroy(comms);
}

TEST_CASE("a long call keeps to its part of a queue, so other threads get on", "[fake]") {
  constexpr std::size_t bytes = std::size_t{192} << 18;  // 192 slices, each of 4 entries
  const LimitedQueues limit(600);
  std::atomic<bool> begun{false};  // seq_cst
  with_device_members(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<char> buffer(bytes, static_cast<char>(1 - rank));
    if (rank == 0) {
      StreamGate closed(stream);
      // As soon as the queue is as full as it gets, another thread opens the gate.
      std::thread opens([&] {
        while (fake_longest_queue() < 256) std::this_thread::yield();
        begun = true;
        closed.open();
      });
      expect(ncclSend(buffer.data(), bytes, ncclChar, 1, comm, stream));
      opens.join();
      stream.finish();
    } else {
      while (!begun) std::this_thread::yield();
      expect(ncclRecv(buffer.data(), bytes, ncclChar, 0, comm, stream));
      stream.finish();
      expect_that(buffer.is_all(1), "the message");
    }
  });
  CHECK(fake_longest_queue() < 540);
}

/// Waits until a queue has held so many entries.
void wait_for_queue(std::size_t entries) {
  while (fake_longest_queue() < entries) std::this_thread::yield();
}

constexpr std::size_t no_limit = std::size_t{1} << 20;  ///< but restarts the count of entries

TEST_CASE("many calls of a rank keep to their part of a queue, so late threads get on", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const LimitedQueues counted(no_limit);
  run_on_device(comms, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> larger(std::vector<int>{1, 2 + rank});
    if (rank == 1) wait_for_queue(400);
    for (int i = 0; i < 200; ++i)  // of more than 5 entries each
      expect(all_reduce(larger, 2, comm, stream, ncclMax));
    stream.finish();
    expect_that(larger.get() == std::vector<int>{1, 3}, "the larger ones");
  });
  CHECK(fake_longest_queue() < 560);
}

TEST_CASE("a long call between devices keeps to its part of a queue", "[fake]") {
  const bool message = GENERATE(from_range(cells<int>({0, 1}, {1}))) != 0;
  // 80 slices of 8 entries, or 160 pieces of 3, all zeros: other tests look at what moves.
  constexpr std::size_t bytes = std::size_t{320} << 20;
  const std::size_t count = bytes / sizeof(double);
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const LimitedQueues counted(no_limit);
  run_on_device(comms, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    void* data = nullptr;
    expect(ncclMemAlloc(&data, bytes));
    if (rank == 1) wait_for_queue(400);
    if (!message) {
      expect(ncclAllReduce(data, data, count, ncclFloat64, ncclSum, comm, stream));
    } else if (rank == 0) {
      expect(ncclSend(data, count, ncclFloat64, 1, comm, stream));
    } else {
      expect(ncclRecv(data, count, ncclFloat64, 0, comm, stream));
    }
    stream.finish();
    expect(ncclMemFree(data));
  });
  CHECK(fake_longest_queue() < 560);
}

TEST_CASE("a call that waits for room in a queue is told of the communicator's end", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  const LimitedQueues counted(no_limit);
  {
    StreamGate gate(stream);
    std::thread aborts([&] {
      wait_for_queue(400);
      expect(ncclCommAbort(comms[1]));
    });
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < 200 && result == ncclSuccess; ++i)
      result = all_reduce(buffer, 10, comms[0], stream);
    CHECK(result == ncclRemoteError);
    aborts.join();
    gate.open();
    stream.finish();
  }
  expect(ncclCommAbort(comms[0]));
}

TEST_CASE("a first group may be captured, as all that it needs is there already", "[fake]") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(std::vector<int>{1, 2, 3});
  const int pinned = fake_pinned_blocks();
  const int blocks = fake_blocks();
  const CapturedGraph graph(stream, [&] {
    expect(ncclGroupStart());
    for (int i = 0; i < 3; ++i) {
      expect(ncclSend(buffer.data() + i, 1, ncclInt, 0, comms[0], stream));
      expect(ncclRecv(buffer.data() + 2 - i, 1, ncclInt, 0, comms[0], stream));
    }
    expect(ncclGroupEnd());
  });
  CHECK(fake_pinned_blocks() <= pinned);
  CHECK(fake_blocks() <= blocks);  // fewer where an earlier test's memory was just given back
  graph.launch(stream);
  stream.finish();
  const std::vector<int> got = buffer.get();
  CHECK(got[0] + got[2] == 4);  // each has met its mirror image or itself
  destroy(comms);
}

TEST_CASE("messages that need more memory than there is take more, also in a capture") {
  constexpr int ranks = 6;
  const std::vector<ncclComm_t> comms = init_through_host(ranks);
  const DeviceStream stream;
  const DeviceBuffer<int> sent(std::vector<int>{10, 11, 12, 13, 14, 15});
  const DeviceBuffer<int> received(ranks * ranks, -1);
  const auto exchange = [&](int of) {
    for (int rank = 0; rank < of; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      for (int peer = 0; peer < ranks; ++peer) {
        expect(ncclSend(sent.data() + rank, 1, ncclInt, peer, comms[at], stream));
        int* const into = received.data() + rank * ranks + peer;
        expect(ncclRecv(into, 1, ncclInt, peer, comms[at], stream));
      }
    }
  };
  expect_cuda(cuStreamBeginCapture_v2(stream, capture_thread_local));
  expect(ncclGroupStart());
  exchange(1);
  expect(ncclGroupEnd());
  cuda::Graph graph = nullptr;
  expect_cuda(cuStreamEndCapture(stream, &graph));
  expect_cuda(cuGraphDestroy(graph));

  const auto all = [&] {
    expect(ncclGroupStart());
    exchange(ranks);
    expect(ncclGroupEnd());
  };
  all();
  const CapturedGraph captured(stream, all);
  captured.launch(stream);
  stream.finish();
  std::vector<int> wanted;
  for (int i = 0; i < ranks * ranks; ++i) wanted.push_back(10 + i % ranks);
  CHECK(received.get() == wanted);
  destroy(comms);
}

TEST_CASE("a long call whose ranks mix host and device buffers is refused, a short one works",
          "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> device(600'000, 1);
    std::vector<int> host(600'000, 1);
    int* const buffer = rank == 0 ? device.data() : host.data();
    expect(ncclAllReduce(buffer, buffer, 200'000, ncclInt, ncclSum, comm, stream));
    stream.finish();
    expect_that((rank == 0 ? device.get() : host).front() == 2, "1 + 1");
    const auto call = [&] {
      return ncclAllReduce(buffer, buffer, 600'000, ncclInt, ncclSum, comm, stream);
    };
    expect(call(), rank == 0 ? ncclSuccess : ncclInvalidUsage);
    expect(failure_of(comm), ncclInvalidUsage);
    stream.finish();  // so the call has failed, and the error text is about its slices
    if (rank == 0) expect_error(call(), ncclInvalidUsage, "or of all in host memory");
  });
}

TEST_CASE("an empty call does not wait for its stream") {
  cuCtxSetCurrent(GENERATE(true, false) ? device_context(0) : nullptr);
  const std::vector<ncclComm_t> comms = init_all(1);
  cuCtxSetCurrent(device_context(0));
  const DeviceStream stream;
  StreamGate gate(stream);
  expect(ncclAllReduce(nullptr, nullptr, 0, ncclInt, ncclSum, comms[0], stream));
  expect(ncclGroupStart());
  expect(ncclBroadcast(nullptr, nullptr, 0, ncclInt, 0, comms[0], stream));
  expect(ncclGroupEnd());
  gate.open();
  stream.finish();
  destroy(comms);
}

TEST_CASE("calls on the host go on while another stream is captured") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream captured;
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  const CapturedGraph graph(captured, [&] {
    expect(all_reduce(buffer, 10, comms[0], captured));
    int value = 1;
    expect(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comms[0], stream));
  });
  graph.launch(captured);
  captured.finish();
  destroy(comms);
}

TEST_CASE("a context that breaks in the middle of a call, or before it, ends the communicator",
          "[fake]") {
  const bool in_the_middle = GENERATE(true, false);
  const cuda::Context breaks = device_context(in_the_middle ? 2 : 3);
  const Setting through_host("NCCL_P2P_DISABLE", "1");
  std::vector<ncclComm_t> comms(2);
  ncclUniqueId id = new_id();
  expect(ncclGroupStart());
  for (const int rank : {0, 1}) {
    cuCtxSetCurrent(rank == 0 ? breaks : device_context(0));
    expect(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 2, id, rank));
  }
  expect(ncclGroupEnd());
  const int blocks = fake_blocks();
  constexpr std::size_t count = 3'000'000;
  {
    cuCtxSetCurrent(device_context(0));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    cuCtxSetCurrent(breaks);
    const DeviceStream broken;
    const DeviceBuffer<int> lost(count, 1);
    StreamGate gate(in_the_middle ? stream : broken);
    expect(all_reduce(buffer, count, comms[1], stream));
    expect(all_reduce(lost, count, comms[0], broken));
    fake_break_context(breaks);
    gate.open();
    CHECK(failure_of(comms[0]) == ncclUnhandledCudaError);
    expect_that(std::string(ncclGetLastError(nullptr)).find("context") != std::string::npos,
                ncclGetLastError(nullptr));
    CHECK(failure_of(comms[1]) == ncclRemoteError);
    stream.finish();
    abort_all(comms);
  }
  cuCtxSetCurrent(device_context(0));
  expect_blocks(blocks);  // so their threads have ended
}

TEST_CASE("a call that the driver refused in the middle does not disturb graphs", "[fake]") {
  const char* const function = GENERATE("cuStreamWaitValue32", "cuMemcpyAsync");
  cuCtxSetCurrent(device_context(0));
  const int blocks = fake_blocks();
  {
    const std::vector<ncclComm_t> comms = init_all(1);
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(3'000'000, 1);
    const auto call = [&](std::size_t count) {
      return all_reduce(buffer, count, comms[0], stream);
    };
    const CapturedGraph graph(stream, [&] { expect(call(3'000'000)); });
    graph.launch(stream);
    fake_fail_next(function, 700);
    expect_error(call(3'000'000), ncclUnhandledCudaError, "700");
    for (int i = 0; i < 3; ++i) graph.launch(stream);
    stream.finish();
    expect(ncclCommAbort(comms[0]));
  }
  expect_blocks(blocks);  // its thread waits for no flag
}

TEST_CASE("many small calls keep their order in a stream, with work on the host between them",
          "[members]") {
  with_device_members(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> one(1000, rank);
    std::vector<int> on_host(10, 1);
    for (int i = 0; i < 300; ++i) {
      const std::size_t count = 1 + static_cast<std::size_t>(i) % 1000;
      expect(all_reduce(one, count, comm, stream, ncclMax));
      std::iota(on_host.begin(), on_host.end(), i);
    }
    stream.finish();
    std::vector<int> wanted(1000, rank);
    std::fill(wanted.begin(), wanted.begin() + 300, 1);
    expect_that(one.get() == wanted, "the larger ones");
  });
}

}  // namespace
}  // namespace rondo::test
