// Registering windows beside other work that ranks do together, and where calls do not block.
#include <memory>

#include "tests/catch.h"
#include "tests/nccl/windows.h"

namespace rondo::test {
namespace {

constexpr std::size_t count = 5000;

TEST_CASE("a group of splits and windows of one communicator, in one order on all ranks") {
  const int ranks = GENERATE(2, 3, 4);
  const int blocking = GENERATE(0, 1);
  with_devices(ranks, [&](int rank, ncclComm_t comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking;
    const DeviceBuffer<int> memory(count, 0);
    ncclComm_t all = nullptr;
    ncclComm_t alone = nullptr;
    ncclWindow_t window = nullptr;
    expect(ncclGroupStart());
    expect(ncclCommSplit(comm, 0, -rank, &all, &config));
    expect(ncclCommWindowRegister(comm, memory.data(), count * sizeof(int), &window,
                                  NCCL_WIN_COLL_SYMMETRIC));
    expect(ncclCommSplit(comm, rank, 0, &alone, &config));
    expect(ncclGroupEnd(), blocking != 0 ? ncclSuccess : ncclInProgress);
    expect(settled(all));
    expect(settled(alone));
    int size = 0;
    expect(ncclCommCount(all, &size));
    expect_that(size == ranks, "all are in the first one");
    expect(ncclCommCount(alone, &size));
    expect_that(size == 1, "each is alone in the second one");
    sum_up(comm, memory, count, rank, ranks);
    expect(ncclCommWindowDeregister(comm, window));
    for (const ncclComm_t child : {all, alone}) expect(ncclCommDestroy(child));
  });
}

TEST_CASE("one thread registers windows of ranks that do not block, one after the other") {
  cuCtxSetCurrent(device_context(0));
  const std::vector<ncclComm_t> comms = init_without_blocking(3);
  std::vector<std::unique_ptr<DeviceBuffer<int>>> memories;
  std::vector<ncclWindow_t> windows(3);
  for (std::size_t at = 0; at < 3; ++at) {
    memories.push_back(std::make_unique<DeviceBuffer<int>>(count, 0));
    const DeviceBuffer<int>& memory = *memories.back();
    expect(ncclCommWindowRegister(comms[at], memory.data(), count * sizeof(int), &windows[at],
                                  NCCL_WIN_COLL_SYMMETRIC),
           ncclInProgress);
  }
  for (const ncclComm_t comm : comms) expect(settled(comm));
  on_all_ranks(3, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto at = static_cast<std::size_t>(rank);
    void* pointer = nullptr;
    expect(ncclWinGetUserPtr(comms[at], windows[at], &pointer));
    expect_that(pointer == memories[at]->data(), "the window is there");
    sum_up(comms[at], *memories[at], count, rank, 3);
    expect(ncclCommWindowDeregister(comms[at], windows[at]));
  });
  destroy(comms);
}

TEST_CASE("earlier windows are there while another one is in progress") {
  cuCtxSetCurrent(device_context(0));
  const std::vector<ncclComm_t> comms = init_without_blocking(2);
  const DeviceBuffer<int> memories[2]{DeviceBuffer<int>(2 * count, 0),
                                      DeviceBuffer<int>(2 * count, 0)};
  std::vector<ncclWindow_t> first(2);
  std::vector<ncclWindow_t> second(2);
  const auto add = [&](std::size_t rank, std::vector<ncclWindow_t>& windows, std::size_t from) {
    expect(ncclCommWindowRegister(comms[rank], memories[rank].data() + from, count * sizeof(int),
                                  &windows[rank], NCCL_WIN_COLL_SYMMETRIC),
           ncclInProgress);
  };
  for (std::size_t rank = 0; rank < 2; ++rank) add(rank, first, 0);
  for (const ncclComm_t comm : comms) expect(settled(comm));
  add(0, second, count);
  refused(ncclCommWindowDeregister(comms[0], first[0]), "still in progress");
  add(1, second, count);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {  // registering goes on beside these questions
      void* pointer = nullptr;
      expect(ncclWinGetUserPtr(comms[rank], first[rank], &pointer));
      expect_that(pointer == memories[rank].data(), "the first one");
      expect(ncclCommGetAsyncError(comms[rank], &state));
    }
    expect(state);
    expect(ncclCommWindowDeregister(comms[rank], first[rank]));
    expect(ncclCommWindowDeregister(comms[rank], second[rank]));
  }
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
