// Ranks that are threads of one process and share a device. They meet at each collective, and one
// of them launches for all. So nothing in a stream waits for what is put there later. Streams may
// share queues, and ranks may share a stream.
#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <latch>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

/// Ranks that share device 0, which becomes this thread's. A thread waits `seconds` for the others:
/// a minute is enough on any machine, and tests that wait in vain ask for less.
std::vector<ncclComm_t> init_joined(int ranks, int seconds = 60) {
  cuCtxSetCurrent(device_context(0));
  const Setting setting("RONDO_JOIN_THREADS", std::to_string(seconds));
  const std::vector<int> device_of(static_cast<std::size_t>(ranks), 0);
  std::vector<ncclComm_t> comms(device_of.size());
  expect(ncclCommInitAll(comms.data(), ranks, device_of.data()));
  return comms;
}

TEST_CASE("threads on one device launch once for all, whatever queues their streams share",
          "[join]") {
  if (lacks_kernels()) return;
  const int ranks = GENERATE(2, 3, 5);
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1003}, std::size_t{100'001});
  const std::size_t queues = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
  const std::vector<ncclComm_t> comms = init_joined(ranks);
  const SharedQueues shared(queues);
  std::vector<Case> cases = every_collective(count, 0);
  std::erase_if(cases, [](const Case& each) { return each.in_place; });
  const Launches launches;
  check_destroyed(comms, cases);
  CHECK(launches.are(static_cast<int>(cases.size())));
}

TEST_CASE("threads on one device may use one stream, the null stream too", "[join]") {
  if (lacks_kernels()) return;
  constexpr int ranks = 3;
  const bool null = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_joined(ranks);
  const DeviceStream own;
  const cudaStream_t stream = null ? nullptr : static_cast<cudaStream_t>(own);
  const Launches launches;
  run_on_device(comms, [&](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> buffer(numbers(1000, rank));
    for (int i = 0; i < 3; ++i) expect(all_reduce(buffer, 1000, comm, stream, ncclMax));
    expect_cuda(cuStreamSynchronize(stream));
    expect_that(buffer.get() == numbers(1000, ranks - 1), "the last rank's");
  });
  CHECK(launches.are(3));
}

TEST_CASE("threads' calls without waiting fill no queue", "[join]") {
  if (lacks_kernels()) return;
  constexpr int ranks = 2;
  const std::vector<ncclComm_t> comms = init_joined(ranks);
  const SharedQueues shared(1);
  const LimitedQueues limit(64);
  run_on_device(comms, [&](int /*rank*/, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(10, 1);
    for (int i = 0; i < 20; ++i) {
      expect(all_reduce(buffer, 10, comm, stream));
    }
    stream.finish();
    expect_that(buffer.is_all(1 << 20), "doubled 20 times");
  });
}

TEST_CASE("the bits are the same whether threads launch together or each for itself", "[join]") {
  constexpr int ranks = 5;
  const std::size_t count = GENERATE(std::size_t{7}, std::size_t{100'003});
  std::array<std::vector<std::vector<float>>, 2> results;
  for (const bool joined : {false, true}) {
    auto& result = results[joined ? 1 : 0];
    result.resize(ranks);
    const Launches launches;
    run_on_device(joined ? init_joined(ranks) : init_on_device(ranks), [&](int rank,
                                                                           ncclComm_t comm) {
      const DeviceStream stream;
      std::vector<float> mine(count);
      for (std::size_t i = 0; i < count; ++i)
        mine[i] = 1.0F / static_cast<float>(i * 5 + static_cast<std::size_t>(rank) * 77 + 1);
      const DeviceBuffer<float> buffer(mine);
      expect(ncclAllReduce(buffer.data(), buffer.data(), count, ncclFloat, ncclSum, comm, stream));
      expect(ncclAllReduce(buffer.data(), buffer.data(), count, ncclFloat, ncclAvg, comm, stream));
      stream.finish();
      result[static_cast<std::size_t>(rank)] = buffer.get();
    });
    if (joined) CHECK(launches.are(2));
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("one thread's calls for several ranks without a group wait once in vain", "[join]") {
  constexpr int ranks = 2;
  const std::vector<ncclComm_t> comms = init_joined(ranks, 1);
  const Together all(comms, {0, 0}, 100);
  const Launches launches;
  const int before = device_parts();
  for (int i = 0; i < 3; ++i) {
    for (std::size_t r = 0; r < ranks; ++r)
      expect(ncclBroadcast(all.ranks[r]->in.data(), all.ranks[r]->out.data(), 100, ncclInt, 0,
                           comms[r], all.ranks[r]->stream));
  }
  all.finish();
  all.expect_outputs(values<int>(100, 0));
  CHECK(launches.are(0));
  CHECK((device_parts() > before || fake_launches() < 0));  // a real driver tells neither
  destroy(comms);
}

TEST_CASE("a thread that comes too late goes on by itself, and the next calls meet again",
          "[join]") {
  std::promise<void> called;
  run_on_device(init_joined(2, 1), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank + 1);
    if (rank == 1) called.get_future().wait();
    expect(all_reduce(buffer, 100, comm, stream));
    if (rank == 0) called.set_value();
    stream.finish();
    expect_that(buffer.is_all(3), "1 + 2");
    // And they meet again.
    expect(all_reduce(buffer, 100, comm, stream));
    stream.finish();
    expect_that(buffer.is_all(6), "3 + 3");
  });
}

TEST_CASE("threads that group their calls differently go on each by itself", "[join]") {
  run_on_device(init_joined(3), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank);
    const auto call = [&] { expect(all_reduce(buffer, 100, comm, stream)); };
    if (rank == 1) expect(ncclGroupStart());
    call();
    call();
    if (rank == 1) expect(ncclGroupEnd());
    call();
    stream.finish();
    expect_that(buffer.is_all(27), "(0 + 1 + 2) * 3 * 3");
  });
}

TEST_CASE("a captured call and messages keep no other thread waiting", "[join]") {
  run_on_device(init_joined(2), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    const auto call = [&] { expect(all_reduce(buffer, 100, comm, stream)); };
    if (rank == 0) {
      const CapturedGraph graph(stream, call);
      graph.launch(stream);
      stream.finish();
    } else {
      call();
    }
    stream.finish();
    expect_that(buffer.is_all(2), "1 + 1");
    expect(rank == 0 ? ncclSend(buffer.data(), 100, ncclInt, 1, comm, stream)
                     : ncclRecv(buffer.data(), 100, ncclInt, 0, comm, stream));
    call();
    stream.finish();
    expect_that(buffer.is_all(4), "2 + 2");
  });
}

TEST_CASE("calls in cudaStreamPerThread go each by itself", "[join][fake]") {
  const auto stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{2});  // cudaStreamPerThread
  const Launches launches;
  std::latch made(2);
  run_on_device(init_joined(2), [&](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> source(1000, rank + 1);
    const DeviceBuffer<int> buffer(1000, 0);
    made.arrive_and_wait();  // what fills them waits for all such streams of the device
    expect_cuda(cuMemcpyAsync(cuda::address_of(buffer.data()), cuda::address_of(source.data()),
                              1000 * sizeof(int), stream));
    expect(ncclAllGather(buffer.data() + 500 * rank, buffer.data(), 500, ncclInt, comm, stream));
    expect_cuda(cuStreamSynchronize(stream));
    std::vector<int> wanted(1000, 1);
    std::fill(wanted.begin() + 500, wanted.end(), 2);
    expect_that(buffer.get() == wanted, "a block of each");
  });
  CHECK(launches.are(0));
}

TEST_CASE("threads may call two communicators in opposite orders", "[join]") {
  const std::vector<ncclComm_t> first = init_joined(2, 1);
  const std::vector<ncclComm_t> second = init_joined(2, 1);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const std::array<DeviceStream, 2> streams;
    const std::array<DeviceBuffer<int>, 2> buffers{DeviceBuffer<int>(100, 1),
                                                   DeviceBuffer<int>(100, 2)};
    for (int i = 0; i < 2; ++i) {
      const auto which = static_cast<std::size_t>(i ^ rank);
      const ncclComm_t comm = (which == 0 ? first : second)[static_cast<std::size_t>(rank)];
      const DeviceBuffer<int>& buffer = buffers[which];
      expect(all_reduce(buffer, 100, comm, streams[which]));
    }
    for (const DeviceStream& stream : streams) stream.finish();
    expect_that(buffers[0].is_all(2), "1 + 1");
    expect_that(buffers[1].is_all(4), "2 + 2");
  });
  destroy(first);
  destroy(second);
}

TEST_CASE("threads whose calls differ are told so", "[join]") {
  run_on_device(init_joined(2), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank);
    const std::size_t count = rank == 0 ? 100 : 50;
    const ncclResult_t at_once = all_reduce(buffer, count, comm, stream);
    expect_failing(at_once, stream, comm, ncclInvalidUsage);
  });
}

TEST_CASE("every thread is told when the launch for all fails", "[join][fake]") {
  if (lacks_kernels()) return;
  const std::vector<ncclComm_t> comms = init_joined(3);
  std::latch entered(3);
  run_on_device(comms, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank);
    const auto call = [&] { return all_reduce(buffer, 100, comm, stream); };
    expect(call());
    stream.finish();
    if (rank == 0) fake_fail_next("cuLaunchKernel", 700);
    entered.arrive_and_wait();
    expect_error(call(), ncclUnhandledCudaError, "cuLaunchKernel");
    expect(failure_of(comm), ncclUnhandledCudaError);
    stream.finish();
  });
}

TEST_CASE("a thread that waits for one that aborts goes on, and is told", "[join]") {
  const std::vector<ncclComm_t> comms = init_joined(2);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const ncclComm_t comm = comms[static_cast<std::size_t>(rank)];
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank);
    if (rank == 1) return expect(ncclCommAbort(comm));
    const ncclResult_t at_once = all_reduce(buffer, 100, comm, stream);
    expect_failing(at_once, stream, comm, ncclRemoteError);
    expect(ncclCommAbort(comm));
  });
}

}  // namespace
}  // namespace rondo::test
