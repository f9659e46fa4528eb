// What a program can do wrong with GPU buffers, on any path. Each mistake gives a result with a
// message, and nothing hangs. If it is not a failure of the communicator, that goes on as before.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/wrong_pointers.h"

namespace rondo::test {
namespace {

TEST_CASE("wrong arguments of calls on a device are refused, and the next call works") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  run_on_device(init(way, 2), [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(numbers(100, rank));
    int* const in = buffer.data();
    expect_arguments_checked(rank, comm, in, ncclInt, stream);
    expect(ncclBroadcast(in, in, 100, ncclInt, 1, comm, stream));
    stream.finish();
    expect_that(buffer.get() == numbers(100, 1), "the broadcast");
  });
}

TEST_CASE("ranks whose calls between devices differ are told so, whatever differs") {
  const Differs what = GENERATE(Differs::count, Differs::type, Differs::root, Differs::collective);
  const std::size_t count = GENERATE(std::size_t{7}, std::size_t{2'300'000});
  cuCtxSetCurrent(device_context(0));
  expect_blocks(0);
  run_on_device(init_on_device(2),
                [&](int rank, ncclComm_t comm) { expect_difference(rank, comm, what, count); });
  expect_blocks(0);
}

TEST_CASE("streams of another device are refused; the null stream is the communicator's",
          "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const Setting setting("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  // A device each: ranks that share one would wait for each other in its one null stream.
  run_members(init_on({0, 1}), [](int rank, ncclComm_t comm) {
    const cuda::Context own = device_context(rank);
    cuCtxSetCurrent(own);
    const DeviceBuffer<int> buffer(numbers(100, rank));
    const auto call = [&](cudaStream_t in) { return broadcast(buffer, 100, 1, comm, in); };
    cuCtxSetCurrent(device_context(2));
    const DeviceStream other;
    const auto refused = [&](ncclResult_t result) {
      expect_error(result, ncclInvalidUsage, "this stream is of another CUDA context");
      expect_error(result, ncclInvalidUsage, "make that device current");
    };
    refused(call(other));
    expect(ncclGroupStart());
    expect(ncclSend(buffer.data(), 4, ncclInt, 1 - rank, comm, other));
    expect(ncclRecv(buffer.data(), 4, ncclInt, 1 - rank, comm, other));
    refused(ncclGroupEnd());
    const cuda::Context wrong = rank == 0 ? nullptr : device_context(2);
    cuCtxSetCurrent(wrong);
    expect(call(nullptr));
    cuda::Context current = nullptr;
    expect_cuda(cuCtxGetCurrent(&current));
    expect_that(current == wrong, "the current context stays what it was");
    cuCtxSetCurrent(own);
    expect_cuda(cuStreamSynchronize(nullptr));
    expect_that(buffer.get() == numbers(100, 1), "the broadcast");
  });
}

TEST_CASE("communicators that were destroyed, aborted or revoked take no calls on a device") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  cuCtxSetCurrent(device_context(0));
  expect_blocks(0);
  {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    const int blocks = fake_blocks();
    const auto call = [&](ncclComm_t comm) { return all_reduce(buffer, 100, comm, stream); };
    std::vector<ncclComm_t> comms = init(way, 2);
    destroy(comms);
    refused(call(comms[0]), "was destroyed");
    comms = init(way, 2);
    abort_all(comms);
    refused(call(comms[0]), "aborted");
    refused(ncclCommAbort(comms[0]), "aborted");
    comms = init(way, 2);
    expect(ncclCommRevoke(comms[0], NCCL_REVOKE_DEFAULT));
    expect_error(call(comms[0]), ncclInvalidUsage, "was revoked");
    CHECK(failure_of(comms[1]) == ncclRemoteError);
    CHECK(call(comms[1]) == ncclRemoteError);
    destroy(comms);
    stream.finish();
    expect_blocks(blocks);
  }
}

}  // namespace
}  // namespace rondo::test
