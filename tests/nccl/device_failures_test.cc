// Failures of calls in streams: no stream may wait for ever, and the message must say why.
#include <array>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/sanitizers.h"

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
  const bool messages = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(2 * count, 1);
  if (messages) {
    expect(ncclGroupStart());
    expect(ncclSend(buffer.data(), count, ncclInt, 1, comms[0], stream));
    expect(ncclRecv(buffer.data() + count, count, ncclInt, 1, comms[0], stream));
    expect(ncclGroupEnd());
  } else {
    expect(broadcast(buffer, count, 1, comms[0], stream));
  }
  abort_beside(comms, stream);
}

TEST_CASE("a communicator that has failed takes no call, however far behind its stream is") {
  const std::vector<ncclComm_t> comms = init_through_host(2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  const auto call = [&] { return all_reduce(buffer, 10, comms[0], stream); };
  {
    StreamGate gate(stream);
    expect(call());
    expect(ncclCommAbort(comms[1]));
    CHECK(failure_of(comms[0]) == ncclRemoteError);
    expect_error(call(), ncclRemoteError, "ncclCommAbort");
    CHECK(ncclGroupStart() == ncclSuccess);
    call();
    expect_error(ncclGroupEnd(), ncclRemoteError, "ncclCommAbort");
    gate.open();
    stream.finish();
  }
  expect(ncclCommAbort(comms[0]));
}

TEST_CASE("abort releases a graph that waits") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(2'500'000, 1);
  revoke_under_replays(comms, stream, [&] {
    if (way == Way::between_devices)
      return expect(broadcast(buffer, 2'500'000, 1, comms[0], stream));
    expect(ncclGroupStart());
    expect(ncclSend(buffer.data(), 1'000'000, ncclInt, 1, comms[0], stream));
    expect(ncclRecv(buffer.data() + 1'000'000, 1'000'000, ncclInt, 1, comms[0], stream));
    expect(ncclGroupEnd());
  });
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
  expect_error(call(0), ncclUnhandledCudaError, "700");
  stream.finish();
  CHECK(failure_of(comms[0]) == ncclUnhandledCudaError);
  CHECK(call(0) == ncclUnhandledCudaError);
  CHECK(failure_of(comms[1]) != ncclSuccess);
  abort_all(comms);
}

TEST_CASE("a call that may not follow the one before lets that one come to its end", "[fake]") {
  const std::vector<ncclComm_t> comms = init(Way::between_devices, 2);
  const DeviceStream stream;
  const DeviceStream other;
  constexpr std::size_t count =
      is_sanitized ? 8'000'000 : 30'000'000;  // slices, each of which waits
  const DeviceBuffer<int> buffer(count, 1);
  const auto call = [&](cudaStream_t in) { return broadcast(buffer, count, 1, comms[0], in); };
  expect(call(stream));  // rank 1 never comes
  fake_fail_next("cuStreamWaitEvent", 700);
  expect_error(call(other), ncclUnhandledCudaError, "700");
  other.finish();
  abort_all(comms);
  stream.finish();
}

TEST_CASE("a refusal before the call has begun leaves the communicator as it was", "[fake]") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream stream;
  const DeviceStream beside;  // it must wait
  const DeviceBuffer<int> buffer(100, 1);
  const auto call = [&](cudaStream_t in) { return all_reduce(buffer, 100, comms[0], in); };
  expect(call(stream));
  for (const char* const function : {"cuStreamWaitEvent", "cuLaunchHostFunc"}) {
    fake_fail_next(function, 700);
    expect_error(call(beside), ncclUnhandledCudaError, function);
  }
  expect(call(stream));
  cuCtxSetCurrent(device_context(1));
  {
    const DeviceStream other;
    expect_error(call(other), ncclInvalidUsage, "another CUDA context");
  }
  for (const cuda::Context current : {cuda::Context{nullptr}, device_context(1)}) {
    cuCtxSetCurrent(current);
    expect(call(nullptr));  // the null stream is that of the communicator's device
  }
  cuCtxSetCurrent(device_context(0));
  expect_cuda(cuStreamSynchronize(nullptr));
  destroy(comms);
}

TEST_CASE("memory is given back when communicators end", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  for (const bool abort : {false, true}) {
    const std::vector<ncclComm_t> comms = init(way, 2);
    std::uint64_t taken = 0;
    expect(ncclCommMemStats(comms[0], ncclStatGpuMemTotal, &taken));
    // Two halves of 4 MiB, 4 slots of 1 MiB.
    CHECK(taken == (way == Way::through_host ? 0 : std::uint64_t{12} << 20));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    for (const ncclComm_t comm : comms) expect(broadcast(buffer, 100, 0, comm, stream));
    stream.finish();
    for (const ncclComm_t comm : comms) expect(abort ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  }
  expect_blocks(0);  // their threads give them back, in their own time
}

}  // namespace
}  // namespace rondo::test
