// Failures of calls in streams: no stream may wait for ever, and the message must say why.
#include <array>

#include "tests/catch.h"
#include "tests/nccl/device.h"

namespace rondo::test {
namespace {

TEST_CASE("ranks that disagree in a stream are told so, whatever differs", "[members]") {
  const Differs what = GENERATE(Differs::count, Differs::type, Differs::root, Differs::collective);
  const std::size_t count = GENERATE(std::size_t{7}, std::size_t{1'500'000});
  with_device_members(
      2, [&](int rank, ncclComm_t comm) { expect_difference(rank, comm, what, count); });
}

TEST_CASE("abort from another thread releases the stream") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(count, 1);
  expect(ncclBroadcast(buffer.data(), buffer.data(), count, ncclInt, 1, comms[0], stream));
  std::thread aborts([&] { expect(ncclCommAbort(comms[0])); });
  stream.finish();  // rank 1 never comes
  aborts.join();
  CHECK(failure_of(comms[1]) == ncclRemoteError);
  expect(ncclCommAbort(comms[1]));
}

TEST_CASE("a communicator that has failed takes no call, however far behind its stream is") {
  const std::vector<ncclComm_t> comms = init_through_host(2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  const auto call = [&] {
    return ncclAllReduce(buffer.data(), buffer.data(), 10, ncclInt, ncclSum, comms[0], stream);
  };
  {
    StreamGate gate(stream);
    expect(call());
    expect(ncclCommAbort(comms[1]));
    CHECK(failure_of(comms[0]) == ncclRemoteError);
    CHECK_NOTHROW(expect_error(call(), ncclRemoteError, "ncclCommAbort"));
    CHECK(ncclGroupStart() == ncclSuccess);
    call();
    CHECK_NOTHROW(expect_error(ncclGroupEnd(), ncclRemoteError, "ncclCommAbort"));
    gate.open();
    stream.finish();
  }
  expect(ncclCommAbort(comms[0]));
}

TEST_CASE("abort releases the graph of a replayed group that waits") {
  const std::vector<ncclComm_t> comms = init_through_host(2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(2'000'000, 1);
  const CapturedGraph graph(stream, [&] {
    expect(ncclGroupStart());
    expect(ncclSend(buffer.data(), 1'000'000, ncclInt, 1, comms[0], stream));
    expect(ncclRecv(buffer.data() + 1'000'000, 1'000'000, ncclInt, 1, comms[0], stream));
    expect(ncclGroupEnd());
  });
  graph.launch(stream);
  graph.launch(stream);
  expect(ncclCommRevoke(comms[0], NCCL_REVOKE_DEFAULT));
  stream.finish();
  expect(ncclCommAbort(comms[0]));
  expect(ncclCommAbort(comms[1]));
}

TEST_CASE("the driver's refusal in the middle of a call ends the communicator, not the stream",
          "[fake]") {
  const auto [way, function] =
      GENERATE(table<Way, const char*>({{Way::through_host, "cuStreamWriteValue32"},
                                        {Way::through_host, "cuMemcpyAsync"},
                                        {Way::between_devices, "cuStreamBatchMemOp"},
                                        {Way::between_devices, "cuMemcpyAsync"}}));
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceStream other;
  const std::array<DeviceBuffer<int>, 2> buffers{DeviceBuffer<int>(1'000'000, 1),
                                                 DeviceBuffer<int>(1'000'000, 1)};
  const auto call = [&](std::size_t rank) {
    int* const own = buffers[rank].data();
    return ncclBroadcast(own, own, 1'000'000, ncclInt, 0, comms[rank], rank == 0 ? stream : other);
  };
  for (const std::size_t rank : {0U, 1U}) expect(call(rank));
  stream.finish();
  other.finish();
  fake_fail_next(function, 700);
  CHECK_NOTHROW(expect_error(call(0), ncclUnhandledCudaError, "700"));
  stream.finish();
  CHECK(failure_of(comms[0]) == ncclUnhandledCudaError);
  CHECK(call(0) == ncclUnhandledCudaError);
  CHECK(failure_of(comms[1]) != ncclSuccess);
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

TEST_CASE("a call that may not follow the one before lets that one come to its end", "[fake]") {
  const std::vector<ncclComm_t> comms = init(Way::between_devices, 2);
  const DeviceStream stream;
  const DeviceStream other;
  constexpr std::size_t count = 30'000'000;  // many slices, each of which waits
  const DeviceBuffer<int> buffer(count, 1);
  const auto call = [&](cudaStream_t in) {
    return ncclBroadcast(buffer.data(), buffer.data(), count, ncclInt, 1, comms[0], in);
  };
  expect(call(stream));  // rank 1 never comes
  fake_fail_next("cuStreamWaitEvent", 700);
  CHECK_NOTHROW(expect_error(call(other), ncclUnhandledCudaError, "700"));
  other.finish();
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
  stream.finish();
}

TEST_CASE("a refusal before the call has begun leaves the communicator as it was", "[fake]") {
  cuCtxSetCurrent(device_context(0));
  const std::vector<ncclComm_t> comms = init_all(1);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(100, 1);
  const auto call = [&](cudaStream_t in) {
    return ncclAllReduce(buffer.data(), buffer.data(), 100, ncclInt, ncclSum, comms[0], in);
  };
  expect(call(stream));
  for (const char* const function : {"cuStreamWaitEvent", "cuLaunchHostFunc"}) {
    fake_fail_next(function, 700);
    CHECK_NOTHROW(expect_error(call(stream), ncclUnhandledCudaError, function));
  }
  expect(call(stream));
  cuCtxSetCurrent(device_context(1));
  {
    const DeviceStream other;
    CHECK_NOTHROW(expect_error(call(other), ncclInvalidUsage, "another CUDA context"));
  }
  for (const cuda::Context current : {cuda::Context{nullptr}, device_context(1)}) {
    cuCtxSetCurrent(current);
    expect(call(nullptr));  // the null stream is that of the communicator's device
  }
  cuCtxSetCurrent(device_context(0));
  expect_cuda(cuStreamSynchronize(nullptr));
  destroy(comms);
}

TEST_CASE("a message to oneself without its other side is refused before anything is put there") {
  cuCtxSetCurrent(device_context(0));
  const std::vector<ncclComm_t> comms = init_all(1);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(100, 1);
  CHECK_NOTHROW(expect_error(ncclSend(buffer.data(), 4, ncclInt, 0, comms[0], stream),
                             ncclInvalidUsage, "waits for ever"));
  stream.finish();
  destroy(comms);
}

TEST_CASE("memory is given back when communicators end", "[fake]") {
  cuCtxSetCurrent(device_context(0));
  for (const bool abort : {false, true}) {
    const std::vector<ncclComm_t> comms = init_all(1);
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    expect(ncclAllReduce(buffer.data(), buffer.data(), 100, ncclInt, ncclSum, comms[0], stream));
    expect(abort ? ncclCommAbort(comms[0]) : ncclCommDestroy(comms[0]));
    stream.finish();
  }
  expect_blocks(0);  // their threads give them back, in their own time
}

}  // namespace
}  // namespace rondo::test
