// Streams that do not write words of host memory or wait for them: the ranks learn that when they
// make a communicator, not in a call.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/log.h"

namespace rondo::test {
namespace {

/// Makes device 6's context one in which nothing was tried out yet. In that of `other` all works.
void begin_anew(int other) {
  destroy(init_on({other, other}));
  cuCtxSetCurrent(device_context(0));
  fake_renew_context(device_context(6));
}

/// What each of two ranks gets that make a communicator. Rank 0's streams work. Those of rank 1 are as
/// FAKE_MEMORY_OPERATIONS says.
std::vector<std::string> texts_of_two(const char* operations) {
  begin_anew(0);
  ncclUniqueId id = new_id();
  std::vector<std::string> texts(2);
  const Setting setting("FAKE_MEMORY_OPERATIONS", operations);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(rank == 1 ? 6 : 0));
    ncclComm_t comm = NCCL_COMM_NULL;
    const ncclResult_t result = ncclCommInitRank(&comm, 2, id, rank);
    std::string& text = texts[static_cast<std::size_t>(rank)];
    text = result == ncclUnhandledCudaError ? ncclGetLastError(nullptr) : "no CUDA error";
    if (result == ncclSuccess) ncclCommAbort(comm);
  });
  return texts;
}

TEST_CASE("no communicator is made where streams of one rank do not write and wait for words",
          "[fake]") {
  const auto [operations, words] = GENERATE(table<const char*, const char*>(
      {{"refused", "rank 1: cuStreamWriteValue32 failed with CUDA error 801"},
       {"lost", "rank 1: cuStreamWriteValue32 had no effect"}}));
  for (const std::string& text : texts_of_two(operations))
    CHECK_THAT(text, Catch::Contains(words) && Catch::Contains("CUDA_VISIBLE_DEVICES="));
}

TEST_CASE("a driver that refuses memory operations is asked again for the next communicator",
          "[fake]") {
  for (const std::string& text : texts_of_two("refused")) CHECK(text != "no CUDA error");
  check_destroyed(init_on({0, 6}), {every_collective(1000, 1).front()});
}

TEST_CASE("where a driver takes memory operations one at a time, calls go through the host",
          "[fake]") {
  begin_anew(5);
  const std::string text = logged_while([] {
    const Setting operations("FAKE_MEMORY_OPERATIONS", "unbatched");
    const std::vector<ncclComm_t> comms = init_on({5, 6});
    const int before = fake_calls("cuLaunchHostFunc");
    check_destroyed(comms, {every_collective(1000, 1).front()});
    CHECK(fake_calls("cuLaunchHostFunc") > before);
  });
  CHECK_THAT(text, Catch::Contains("GPU buffers go through the host's memory: rank 1: rondo: "
                                   "cuStreamBatchMemOp failed with CUDA error 801"));
}

}  // namespace
}  // namespace rondo::test
