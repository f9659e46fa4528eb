// Reductions between devices.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t one_shot = (64 << 10) / sizeof(int);  ///< elements that every rank reduces
constexpr std::size_t half = (4 << 20) / sizeof(int);       ///< elements of a slice of one block

void reduce_everything(int rank, int ranks, std::size_t count, ncclComm_t comm) {
  const DeviceStream stream;
  const std::size_t all = count * static_cast<std::size_t>(ranks);
  const std::size_t own = count * static_cast<std::size_t>(rank);
  const DeviceBuffer<int> in(numbers(all, rank));
  DeviceBuffer<int> out(count, -1);
  const DeviceBuffer<int> both(numbers(all, rank));
  expect(ncclAllReduce(in.data(), out.data(), count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(out.get(), ranks, 0, "all_reduce");
  expect(ncclReduceScatter(in.data(), out.data(), count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(out.get(), ranks, own, "reduce_scatter");
  expect(ncclReduce(in.data(), out.data(), count, ncclInt, ncclSum, ranks - 1, comm, stream));
  stream.finish();
  if (rank == ranks - 1) expect_sums(out.get(), ranks, 0, "reduce");
  expect(ncclAllReduce(both.data(), both.data(), all, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(both.get(), ranks, 0, "all_reduce in place");
}

TEST_CASE("reductions from device to device, whatever their size") {
  const int ranks = GENERATE(2, 3);
  const std::size_t count = GENERATE_COPY(
      from_range(cells<std::size_t>({1, one_shot - 1, one_shot + 1, half / 3, half + 17},
                                    {one_shot - 1, ranks == 2 ? half + 17 : one_shot + 1})));
  with_devices(ranks,
               [&](int rank, ncclComm_t comm) { reduce_everything(rank, ranks, count, comm); });
  CHECK(fake_violations() == 0);
}

TEST_CASE("eight ranks reduce from device to device") {
  with_devices(8, [](int rank, ncclComm_t comm) { reduce_everything(rank, 8, 20'000, comm); });
}

TEST_CASE("reductions of ranks on two devices", "[fake]") {
  const EachForItself apart;
  with_unique_id(2, [](int rank, const ncclUniqueId& id) {
    cuCtxSetCurrent(device_context(rank));
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRank(&comm, 2, id, rank));
    reduce_everything(rank, 2, 50'000, comm);
    expect(ncclCommDestroy(comm));
  });
}

/// The inputs are bit patterns of small magnitude, whatever they mean in a type. Each result must
/// be the one that the same call has on the host.
TEST_CASE("every type and operator gives the same bits as on the host") {
  const std::vector<std::pair<ncclDataType_t, std::size_t>> types{
      {ncclInt8, 1},    {ncclUint8, 1},    {ncclInt32, 4},      {ncclUint32, 4},
      {ncclInt64, 8},   {ncclUint64, 8},   {ncclFloat16, 2},    {ncclFloat32, 4},
      {ncclFloat64, 8}, {ncclBfloat16, 2}, {ncclFloat8e4m3, 1}, {ncclFloat8e5m2, 1}};
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    for (const auto& [type, bytes] : types) {
      for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
        constexpr std::size_t count = 999;
        std::vector<unsigned char> host(count * bytes);
        // The upper byte of every element stays far from infinities and NaNs.
        for (std::size_t i = 0; i < host.size(); ++i)
          host[i] = static_cast<unsigned char>((i * 5 + static_cast<std::size_t>(rank) * 7) % 48);
        const Bytes device(host);
        expect(ncclAllReduce(device.data(), device.data(), count, type, op, comm, stream));
        stream.finish();
        expect(ncclAllReduce(host.data(), host.data(), count, type, op, comm, stream));
        expect_that(device.get() == host, "type " + std::to_string(static_cast<int>(type)) +
                                              ", operator " + std::to_string(static_cast<int>(op)));
      }
    }
  });
}

TEST_CASE("scaled contributions between devices, with the scalar on the host or the device") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const std::size_t count = 70'000;
    const DeviceBuffer<float> values(count, 1);
    const DeviceBuffer<float> scalar(1, 0);
    const float on_host = rank == 0 ? 2.0F : 3.0F;
    ncclRedOp_t at_once = ncclSum;
    ncclRedOp_t later = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&at_once, const_cast<float*>(&on_host), ncclFloat,
                                    ncclScalarHostImmediate, comm));
    expect(ncclRedOpCreatePreMulSum(&later, scalar.data(), ncclFloat, ncclScalarDevice, comm));
    expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, at_once, comm, stream));
    const DeviceBuffer<float> ten(1, 10);
    expect_cuda(
        cuMemcpyAsync(cuda::address_of(scalar.data()), cuda::address_of(ten.data()), 4, stream));
    expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, later, comm, stream));
    stream.finish();
    expect_that(values.get() == std::vector<float>(count, 100), "(2 + 3) * 10 twice");
  });
}

TEST_CASE("a device scalar in page-locked memory is read when the stream gets there", "[fake]") {
  const int devices = GENERATE(1, 2);
  const std::vector<int> device_of{0, devices - 1};
  cuCtxSetCurrent(device_context(0));
  run_members(init_on(device_of), [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(device_of[static_cast<std::size_t>(rank)]));
    const DeviceStream stream;
    const std::size_t count = 100;
    const DeviceBuffer<float> values(count, 1);
    const cuda::PinnedMemory pinned(4096);
    float* const scalar = reinterpret_cast<float*>(pinned.data()) + 3;
    *scalar = 2;
    ncclRedOp_t op = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat, ncclScalarDevice, comm));
    Gate gate(stream);
    expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, op, comm, stream));
    *scalar = 10;
    gate.open();
    stream.finish();
    expect_that(values.get() == std::vector<float>(count, 20), "10 + 10");
  });
}

TEST_CASE("a captured all-reduce is replayed from device to device") {
  const std::size_t count = GENERATE(std::size_t{10}, half + 10);
  with_devices(3, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    DeviceBuffer<int> in(count, 0);
    const DeviceBuffer<int> out(count, 0);
    const CapturedGraph graph(stream, [&] {
      expect(ncclAllReduce(in.data(), out.data(), count, ncclInt, ncclSum, comm, stream));
    });
    for (int round = 1; round < 4; ++round) {
      in.set(std::vector<int>(count, round * (rank + 1)));
      graph.launch(stream);
      stream.finish();
      expect_that(out.get() == std::vector<int>(count, round * 6), "the sum of this round");
    }
  });
  CHECK(fake_violations() == 0);
}

}  // namespace
}  // namespace rondo::test
