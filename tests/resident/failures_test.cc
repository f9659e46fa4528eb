// Failures while kernels wait: they end, the message says why, and memory is given back.
#include "core/communicator/access.h"
#include "core/direct_device/device_calls.h"
#include "core/resident/executor.h"
#include "tests/catch.h"
#include "tests/nccl/log.h"
#include "tests/resident/ranks.h"

namespace rondo::test {
namespace {

TEST_CASE("ranks that disagree about a call that waits are told so") {
  const std::size_t more = GENERATE(std::size_t{11}, std::size_t{300'000});  // waits, or is finite
  run_on_own(init_on_own(2), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(more, 1);
    const std::size_t mine = rank == 0 ? 10 : more;
    const ncclResult_t at_once = all_reduce(buffer, mine, comm, stream);
    expect_failing(at_once, stream, comm, ncclInvalidUsage);
    expect_last_error(comm, "all_reduce");
  });
}

TEST_CASE("abort from another thread ends a kernel that waits") {
  const bool moves = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_on_own(2);
  cuCtxSetCurrent(device_context(0));
  const DeviceStream stream;
  const DeviceBuffer<int> one(1000, 1);
  expect(moves ? broadcast(one, 1000, 1, comms[0], stream)
               : all_reduce(one, 1000, comms[0], stream));
  abort_beside(comms, stream);
}

TEST_CASE("the log says what a kernel waited for when it was ended") {
  if (RONDO_WITH_KERNELS == 0) return;
  const Log log;
  const std::vector<ncclComm_t> comms = log.record([] { return init_on_own(2); });
  cuCtxSetCurrent(device_context(0));
  const DeviceStream stream;
  const DeviceBuffer<int> one(1, 1);
  expect(all_reduce(one, 1, comms[0], stream));
  expect(ncclCommRevoke(comms[0], NCCL_REVOKE_DEFAULT));
  stream.finish();
  log.wait_for("its kernel waited for rank 1 to send message 0 of stripe 0");
  abort_all(comms);
  destroy(init_all(1));  // the log goes to standard error again
}

TEST_CASE("a rank that never comes is a timeout on all others") {
  const Setting limit("RONDO_TIMEOUT", "2");
  const std::vector<ncclComm_t> comms = init_on_own(2);
  cuCtxSetCurrent(device_context(0));
  const DeviceStream stream;
  const DeviceBuffer<int> one(1, 1);
  expect(all_reduce(one, 1, comms[0], stream));
  stream.finish();
  CHECK(failure_of(comms[0]) != ncclSuccess);
  CHECK_THAT(ncclGetLastError(comms[0]), Catch::Contains("rank 1"));
  abort_all(comms);
}

TEST_CASE("the driver's refusal of a kernel ends the communicator on all ranks") {
  if (RONDO_WITH_KERNELS == 0) return;
  const std::vector<ncclComm_t> comms = init_on_own(2);
  const auto call = [&](int rank, const DeviceBuffer<int>& one, const DeviceStream& stream) {
    return all_reduce(one, 1, comms[static_cast<std::size_t>(rank)], stream);
  };
  cuCtxSetCurrent(device_context(0));
  const DeviceStream first;
  const DeviceBuffer<int> one(1, 1);
  cuCtxSetCurrent(device_context(1));
  const DeviceStream second;
  const DeviceBuffer<int> two(1, 1);
  expect(call(1, two, second));
  cuCtxSetCurrent(device_context(0));
  fake_fail_next("cuLaunchKernel", 700);
  expect_error(call(0, one, first), ncclUnhandledCudaError, "700");
  first.finish();
  second.finish();
  CHECK(failure_of(comms[0]) == ncclUnhandledCudaError);
  CHECK(failure_of(comms[1]) != ncclSuccess);
  abort_all(comms);
}

/// What is logged while communicators are made.
std::string log_of_making(const std::vector<int>& devices, const std::string& executor) {
  const Setting setting("RONDO_DEVICE_EXECUTOR", executor);
  return logged_while([&] { destroy(init_each_on(devices)); });
}

TEST_CASE("the log says whether kernels wait, and why they cannot where that is asked for") {
  const std::string none = RONDO_WITH_KERNELS != 0
                               ? "ranks 0 and 1 are of one process and use one device"
                               : "rank 0: rondo: this rondo has no device kernels";
  const std::string shared = log_of_making({0, 0}, "auto");
  CHECK_THAT(shared,
             Catch::Contains("INFO  calls between GPUs use no co-resident kernels: " + none));
  CHECK_THAT(log_of_making({0, 0}, "resident"),
             Catch::Contains("WARN  RONDO_DEVICE_EXECUTOR=resident is not possible: calls "
                             "between GPUs use no co-resident kernels: " +
                             none));
  const std::string waits = "calls between GPUs are co-resident kernels";
  const std::string own = log_of_making({0, 1}, "resident");
  CHECK((own.find(waits) != std::string::npos) == (RONDO_WITH_KERNELS != 0));
  CHECK_THAT(log_of_making({0, 1}, "finite"),
             Catch::Contains("calls between GPUs use no co-resident kernels: "
                             "RONDO_DEVICE_EXECUTOR=finite"));
}

TEST_CASE("no rank's kernels wait where one rank cannot prepare their memory") {
  if (RONDO_WITH_KERNELS == 0) return;
  fake_fail_next("cuMemcpyAsync", 700);  // the table of arenas
  const ResidentLaunches launches;
  run_on_own(init_on_own(2), [](int, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> one(1, 1);
    expect(all_reduce(one, 1, comm, stream));
    stream.finish();
    expect_that(one.get() == std::vector<int>{2}, "the sum");
  });
  CHECK(launches.are(0));
}

/// Rank 1's part of the meeting that DeviceCalls::make() is, up to where it has made what its
/// kernels need. Then it aborts instead of telling of its memory.
void leave_in_the_meeting(const std::shared_ptr<detail::CommunicatorState>& state,
                          cuda::Context context) {
  state->exchange("");  // nothing is in the way
  const cuda::CurrentContext current(context);
  const auto executor = resident::Executor::make(state, context);
  state->abort("rank 1 has left");
}

TEST_CASE("pinned memory is given back in its context where the ranks' meeting fails") {
  if (RONDO_WITH_KERNELS == 0) return;
  while (fake_blocks() > 0) std::this_thread::yield();  // those of other tests
  with_world(2, {}, [](Communicator& world) {
    const auto& state = detail::CommunicatorAccess::state(world);
    cuda::Context context = device_context(world.rank());
    cuCtxSetCurrent(nullptr);  // as on a thread that serves several devices
    if (world.rank() == 1) return leave_in_the_meeting(state, context);
    try {
      direct_device::DeviceCalls::make(state, cuda::borrowed(context));
      expect_that(false, "the meeting must fail");
    } catch (const Error& error) {
      expect_that(error.code() == ErrorCode::aborted, error.what());
    }
  });
  CHECK(fake_blocks() == 0);
}

TEST_CASE("memory where a living rank's kernels may write stays when its owner has failed") {
  if (RONDO_WITH_KERNELS == 0) return;
  while (fake_blocks() > 0) std::this_thread::yield();  // those of other tests
  const Log log;
  const std::vector<ncclComm_t> comms = log.record([] { return init_on_own(2); });
  const int heaps = fake_blocks();  // each rank has as many
  expect(ncclCommAbort(comms[0]));
  log.wait_for("bytes of device memory stay taken until all living ranks end this communicator");
  CHECK(fake_blocks() == heaps);
  expect(ncclCommAbort(comms[1]));
  while (fake_blocks() > 0) std::this_thread::yield();  // their threads do it, in their own time
}

TEST_CASE("device memory of communicators that wait is given back") {
  for (const bool abort : {false, true}) {
    const std::vector<ncclComm_t> comms = init_on_own(2);
    on_all_ranks(2, [&](int rank) {
      cuCtxSetCurrent(device_context(rank));
      const DeviceStream stream;
      const DeviceBuffer<int> one(1, 1);
      const ncclComm_t comm = comms[static_cast<std::size_t>(rank)];
      expect(all_reduce(one, 1, comm, stream));
      stream.finish();
    });
    for (const ncclComm_t comm : comms) expect(abort ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  }
  while (fake_blocks() > 0) std::this_thread::yield();  // their threads do it, in their own time
}

}  // namespace
}  // namespace rondo::test
