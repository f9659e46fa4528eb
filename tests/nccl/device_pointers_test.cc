// Pointers that are wrong though not null: memory that was freed, that never existed, that is too
// short, or on another device. Each gives ncclInvalidArgument before anything is sent, and the next
// call works.
#include <memory>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/wrong_pointers.h"

namespace rondo::test {
namespace {

/// Device memory that was taken and given back.
int* freed() {
  const DeviceBuffer<int> gone(5000);
  return gone.data();
}

/// Runs body(rank, comm, stream, good) for each of two ranks, by both ways. After its refusals `good` is
/// what it was, and calls work.
template <class Body>
void with_good_buffers(Body&& body) {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  run_on_device(init(way, 2), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> good(numbers(100, rank));
    body(rank, comm, stream, good);
    stream.finish();
    expect_that(good.get() == numbers(100, rank), "a refused call has changed nothing");
    check_broadcast(rank, comm);
  });
}

TEST_CASE("nobody's memory is refused with a message, and the next call works", "[fake]") {
  enum class Wrong { freed, number, guard };
  const Wrong what = GENERATE(Wrong::freed, Wrong::number, Wrong::guard);
  with_good_buffers([&](int rank, ncclComm_t comm, cudaStream_t stream, const auto& good) {
    const GuardedPage guarded;
    std::vector<int> host(200);
    int* const wrong = what == Wrong::freed    ? freed()
                       : what == Wrong::number ? reinterpret_cast<int*>(std::uintptr_t{0x12340})
                                               : guarded.guard();
    for (int* const other : {good.data(), host.data()})
      expect_refusals(rank, comm, wrong, other, 4, stream);
    // A buffer that the rank has no part in is not checked.
    expect(
        ncclBroadcast(rank == 1 ? good.data() : wrong, good.data(), 0, ncclInt, 1, comm, stream));
  });
}

TEST_CASE("groups and captures that meet a freed buffer do nothing", "[fake]") {
  with_good_buffers([](int rank, ncclComm_t comm, cudaStream_t stream, const auto& good) {
    int* const wrong = freed();
    expect(ncclGroupStart());
    expect(broadcast(good, 100, 1, comm, stream));
    refused(ncclSend(wrong, 4, ncclInt, 1 - rank, comm, stream), nobodys);
    refused(ncclGroupEnd(), nobodys);
    const CapturedGraph empty(stream, [&] {
      refused(ncclAllGather(wrong, good.data(), 4, ncclInt, comm, stream), nobodys);
    });
    empty.launch(stream);
  });
}

TEST_CASE("a buffer that ends before the call's last byte is refused", "[fake]") {
  with_good_buffers([](int rank, ncclComm_t comm, cudaStream_t stream, const auto& good) {
    const GuardedPage host;
    const DeviceBuffer<int> large(5000);
    constexpr std::size_t fits = GuardedPage::bytes / sizeof(int);
    refused(broadcast(good, fits + 1, 0, comm, stream), "begins in memory of a GPU");
    refused(ncclAllReduce(large.data(), good.data(), fits + 1, ncclInt, ncclSum, comm, stream),
            "the last of its 4100 bytes");
    refused(ncclAllGather(good.data(), large.data(), 2501, ncclInt, comm, stream), "the last of");
    refused(all_reduce(host, fits + 1, comm, stream), "begins in memory of the host");
    refused(ncclSend(host.data() + 1, fits, ncclInt, 1 - rank, comm, stream), "the last of");
    expect(all_reduce(host, fits, comm, stream));
    expect(broadcast(large, 5000, 0, comm, stream));
    expect_cuda(cuStreamSynchronize(stream));
  });
}

/// Device memory that every device reaches.
class ManagedNumbers {
 public:
  explicit ManagedNumbers(const std::vector<int>& values) {
    constexpr unsigned attach_global = 1;
    expect_cuda(cuMemAllocManaged(&address_, values.size() * sizeof(int), attach_global));
    device_upload(data(), values.data(), values.size() * sizeof(int));
  }
  ~ManagedNumbers() { cuMemFree_v2(address_); }
  ManagedNumbers(const ManagedNumbers&) = delete;
  ManagedNumbers& operator=(const ManagedNumbers&) = delete;
  int* data() const { return reinterpret_cast<int*>(address_); }

 private:
  cuda::DevicePointer address_ = 0;
};

TEST_CASE("another device's memory is refused until the communicator's device reaches it",
          "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const int device = way == Way::through_host ? 4 : 5;  // access stays once it is given
  const cuda::Context there = device_context(7);
  cuCtxSetCurrent(there);
  const DeviceBuffer<int> distant(numbers(100, 3));
  const ManagedNumbers everybodys(numbers(100, 4));
  const Setting setting("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  cuCtxSetCurrent(device_context(device));
  run_members(init_on({device, device}), [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(device));
    const DeviceStream stream;
    const DeviceBuffer<int> output(100, -1);
    const auto spread = [&](const int* from, int root) {
      return ncclBroadcast(from, output.data(), 100, ncclInt, root, comm, stream);
    };
    refused(spread(distant.data(), rank), "is memory of GPU 7, which GPU " +
                                              std::to_string(device) +
                                              " of this communicator does not reach");
    expect(spread(everybodys.data(), 0));
    stream.finish();
    expect_that(output.get() == numbers(100, 4), "managed memory");
    expect_sum(comm, 1, 2);  // both ranks were refused
    const int status = cuCtxEnablePeerAccess(there, 0);
    if (status != cuda::peer_access_already_enabled) expect_cuda(status);
    expect(spread(distant.data(), 0));
    stream.finish();
    expect_that(output.get() == numbers(100, 3), "a peer's memory");
  });
}

TEST_CASE("an operator's scalar that is not aligned, or nobody's memory, is refused", "[fake]") {
  with_good_buffers([](int, ncclComm_t comm, cudaStream_t stream, const auto& good) {
    const DeviceBuffer<unsigned char> bytes(8, 1);
    ncclRedOp_t op = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&op, bytes.data() + 1, ncclInt, ncclScalarDevice, comm));
    refused(all_reduce(good, 100, comm, stream, op),
            "does not begin at a multiple of its type's size");
    refused(ncclRedOpCreatePreMulSum(&op, freed(), ncclInt, ncclScalarHostImmediate, comm),
            "the scalar is not memory");
    auto scalar = std::make_unique<DeviceBuffer<int>>(1, 2);
    expect(ncclRedOpCreatePreMulSum(&op, scalar->data(), ncclInt, ncclScalarDevice, comm));
    scalar.reset();
    refused(all_reduce(good, 100, comm, stream, op), "the operator's scalar at ");
  });
}

}  // namespace
}  // namespace rondo::test
