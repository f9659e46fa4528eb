// Failures of calls between devices: no stream may wait for ever, the message must say why, and
// memory is given back.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

TEST_CASE("a rank whose buffer is on the host is told so") {
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes device(std::vector<unsigned char>(100, 1));
    std::vector<unsigned char> host(100);
    void* const buffer = rank == 0 ? static_cast<void*>(device.data()) : host.data();
    const ncclResult_t at_once = ncclBroadcast(buffer, buffer, 100, ncclUint8, 0, comm, stream);
    stream.finish();
    expect_that(at_once != ncclSuccess || failure_of(comm) != ncclSuccess, "a failure");
    expect(failure_of(comm), ncclInvalidUsage);
    expect_last_error(comm, "on a device");
  });
}

TEST_CASE("a replay of many calls ends after a failure") {
  constexpr int calls = 1000;  // each look of the watcher lets two of them end (watcher_test)
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const Bytes buffer(std::vector<unsigned char>(10, 1));
  const CapturedGraph graph(stream, [&] {
    for (int call = 0; call < calls; ++call)
      expect(ncclBroadcast(buffer.data(), buffer.data(), 10, ncclUint8, 1, comms[0], stream));
  });
  expect(ncclCommAbort(comms[1]));
  CHECK(failure_of(comms[0]) == ncclRemoteError);
  graph.launch(stream);
  stream.finish();
  expect(ncclCommAbort(comms[0]));
}

TEST_CASE("a replay that the other rank does not make ends at the deadline, with a message") {
  const bool is_message = GENERATE(false, true);
  const Setting setting("RONDO_TIMEOUT", "1");
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const Bytes buffer(std::vector<unsigned char>(100, 1));
  {
    const CapturedGraph graph(stream, [&] {
      if (is_message) {
        expect(ncclRecv(buffer.data(), 100, ncclUint8, 1, comms[0], stream));
      } else {
        expect(ncclBroadcast(buffer.data(), buffer.data(), 100, ncclUint8, 1, comms[0], stream));
      }
    });
    graph.launch(stream);
    stream.finish();
  }
  expect(failure_of(comms[0]), ncclRemoteError);
  const std::string words = ncclGetLastError(comms[0]);
  INFO(words);
  CHECK(words.find("a replayed graph's call between devices did not complete within 1 s") !=
        std::string::npos);
  abort_all(comms);
}

TEST_CASE("all ranks go through the host's memory where one cannot take part", "[fake]") {
  // Threads need no handle of each other's memory.
  const auto [function, takes_part] = GENERATE(table<const char*, bool>(
      {{"cuMemAlloc", false}, {"cuIpcGetMemHandle", true}, {"cuStreamBatchMemOp none", true}}));
  fake_fail_next(function, 2);
  const int before = device_parts();
  {
    const std::vector<ncclComm_t> comms = init_on_device(2);
    on_all_ranks(2, [&](int rank) {
      cuCtxSetCurrent(device_context(0));
      const DeviceStream stream;
      const Bytes buffer(pattern(1000, rank));
      expect(ncclBroadcast(buffer.data(), buffer.data(), 1000, ncclUint8, 1,
                           comms[static_cast<std::size_t>(rank)], stream));
      stream.finish();
      expect_that(buffer.get() == pattern(1000, 1), "broadcast");
    });
    destroy(comms);
  }
  CHECK((device_parts() > before) == takes_part);
}

TEST_CASE("every call says that a context has broken, and the other rank's calls end", "[fake]") {
  const int blocks = fake_blocks();
  const cuda::Context breaks = device_context(5);
  const std::vector<ncclComm_t> comms = init_on({0, 5});
  constexpr std::size_t count = 3'000'000;
  {
    cuCtxSetCurrent(breaks);
    const DeviceStream broken;
    const DeviceBuffer<int> lost(count, 1);
    cuCtxSetCurrent(device_context(0));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    StreamGate gate(stream);
    const auto call = [&](int rank) {
      int* const data = rank == 0 ? buffer.data() : lost.data();
      const cudaStream_t into = rank == 0 ? stream : broken;
      return ncclBroadcast(data, data, count, ncclInt, 0, comms[static_cast<std::size_t>(rank)],
                           into);
    };
    expect(call(0));
    expect(call(1));
    fake_break_context(breaks, 716);
    gate.open();
    CHECK(failure_of(comms[1]) == ncclUnhandledCudaError);
    for (int i = 0; i < 3; ++i) expect_error(call(1), ncclUnhandledCudaError, "716");
    CHECK(failure_of(comms[0]) == ncclSystemError);
    expect_error(call(0), ncclSystemError, "context of this communicator's streams");
    stream.finish();
    abort_all(comms);
  }
  fake_lose_memory(5);  // as it goes with the context
  expect_blocks(blocks);
  fake_renew_context(breaks);
}

TEST_CASE("ranks with a context that has broken before make no communicator, and all learn of it",
          "[fake]") {
  const cuda::Context broken = device_context(5);
  fake_break_context(broken);
  ncclUniqueId id = new_id();
  std::vector<ncclResult_t> results(2);
  std::vector<std::string> texts(2);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(rank == 0 ? device_context(0) : broken);
    ncclComm_t comm = NCCL_COMM_NULL;
    const auto at = static_cast<std::size_t>(rank);
    results[at] = ncclCommInitRank(&comm, 2, id, rank);
    texts[at] = ncclGetLastError(nullptr);
  });
  INFO(texts[0] + " and " + texts[1]);
  CHECK(results[1] == ncclUnhandledCudaError);
  CHECK(texts[1].find("700") != std::string::npos);
  CHECK(results[0] != ncclSuccess);
  fake_renew_context(broken);
}

}  // namespace
}  // namespace rondo::test
