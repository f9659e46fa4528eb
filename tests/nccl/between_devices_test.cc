// Collectives between devices, without the host's memory. Are they right, do they take that path,
// and do they keep their stream's order?
#include "tests/nccl/between_devices.h"

#include "tests/catch.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t half = std::size_t{4} << 20;       ///< bytes of a slice of one block
constexpr std::size_t one_shot = std::size_t{64} << 10;  ///< bytes that every rank reduces

TEST_CASE("collectives go from device to device, whatever their size") {
  const int ranks = GENERATE(from_range(cells<int>({2, 3, 4}, {3})));
  const bool reduces = GENERATE(false, true);
  const std::size_t part = half / static_cast<std::size_t>(ranks);
  const std::size_t bytes = GENERATE_COPY(from_range(
      cells<std::size_t>({4, 4100, one_shot - 4, one_shot + 4, part - 4, part + 4, half + 68},
                         {4100, part + 4, half + 68})));
  const int before = device_parts();
  const int copied = fake_calls("cuLaunchHostFunc");
  check_destroyed(init_on_device(ranks), only(reduces, every_collective(bytes / 4, ranks - 1)));
  CHECK((device_parts() > before || fake_launches() < 0));
  // Without kernels, reductions go through the host's memory.
  if (!reduces || RONDO_WITH_KERNELS != 0) CHECK(fake_calls("cuLaunchHostFunc") == copied);
}

TEST_CASE("eight ranks, and the most ranks that may take part, go from device to device",
          "[fake]") {
  const int ranks = GENERATE(8, 32);
  const int copied = fake_calls("cuLaunchHostFunc");
  const std::vector<ncclComm_t> comms = init_on_device(ranks);
  check_calls(comms, only(false, every_collective(300, ranks - 1, DataType::uint8)));
  check_calls(comms, {every_pair(DataType::uint8, 100)}, {.by_messages = true});
  CHECK(fake_calls("cuLaunchHostFunc") == copied);
  if (ranks == 8) check_calls(comms, only(true, every_collective(20'000, 7)));
  destroy(comms);
}

TEST_CASE("calls of many slices use both halves in turn") {
  const std::size_t bytes = GENERATE(
      from_range(cells<std::size_t>({half, half + 1, 2 * half, 5 * half / 2}, {2 * half + 1})));
  check_destroyed(init_on_device(2), only(false, every_collective(bytes, 1, DataType::uint8)));
}

TEST_CASE("every type and operator, and every root") {
  std::vector<Case> cases;
  for (const NcclType& type : nccl_types) {
    for (const ReduceOperator op : operators_of(type.type))
      cases.push_back({.call = {.count = 999,
                                .collective = Collective::all_reduce,
                                .type = type.type,
                                .op = op},
                       .in_place = true});
    for (const int root : {0, 1})
      cases.push_back({.call = {.count = 1000,
                                .collective = Collective::broadcast,
                                .type = type.type,
                                .root = root}});
  }
  check_destroyed(init_on_device(2), cases);
}

TEST_CASE("reductions give the same bits as on the host, also where numbers are rounded") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    for (const NcclType& type : nccl_types) {
      for (const ReduceOperator op : operators_of(type.type)) {
        const Call call{
            .count = 999, .collective = Collective::all_reduce, .type = type.type, .op = op};
        std::vector<std::byte> host =
            patterned({.call = call}, 999 * size_of(type.type), rank, 2, Values::order_shows);
        const DeviceBuffer<std::byte> device(host);
        expect(make_call(call, device.data(), device.data(), comm, stream));
        stream.finish();
        expect(make_call(call, host.data(), host.data(), comm, stream));
        expect_that(device.get() == host, to_string(call));
      }
    }
  });
}

TEST_CASE("ranks on two devices of a process reach each other", "[fake]") {
  check_destroyed(init_on({0, 1}), every_collective(5000, 1));
  CHECK(fake_calls("cuCtxEnablePeerAccess") > 0);
}

TEST_CASE("calls between devices return at once and keep their order, also in several streams") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream first;
    const DeviceStream second;
    const Bytes one(pattern(1000, rank));
    const Bytes two(Image(1000, 9));
    StreamGate gate(first);
    expect(ncclBroadcast(one.data(), one.data(), 1000, ncclUint8, 0, comm, first));
    expect(ncclBroadcast(one.data(), two.data(), 1000, ncclUint8, 1, comm, second));
    expect_that(two.get() == Image(1000, 9), "nothing happens before the first stream does");
    gate.open();
    second.finish();
    expect_equal(two.get(), pattern(1000, 0), "the second call saw the first one's result");
  });
}

TEST_CASE("one thread runs all ranks in a group, long calls too") {
  const std::vector<ncclComm_t> comms = init_on_device(3);
  const std::size_t bytes = 2 * half;
  const std::vector<DeviceStream> streams(3);
  std::vector<std::unique_ptr<Bytes>> buffers;
  for (int rank = 0; rank < 3; ++rank)
    buffers.push_back(std::make_unique<Bytes>(pattern(bytes, rank)));
  expect(ncclGroupStart());
  for (std::size_t at = 0; at < 3; ++at) {
    void* const data = buffers[at]->data();
    expect(ncclBroadcast(data, data, bytes, ncclUint8, 1, comms[at], streams[at]));
    expect(ncclBroadcast(data, data, 1000, ncclUint8, 0, comms[at], streams[at]));
  }
  expect(ncclGroupEnd());
  for (const DeviceStream& stream : streams) stream.finish();
  for (const auto& buffer : buffers) expect_equal(buffer->get(), pattern(bytes, 1), "broadcast");
  destroy(comms);
}

TEST_CASE("scaled contributions between devices, with the scalar on the host or the device") {
  with_devices(2, [](int rank, ncclComm_t comm) { check_scaled(rank, comm, 70'000); });
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
    StreamGate gate(stream);
    expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, op, comm, stream));
    *scalar = 10;
    gate.open();
    stream.finish();
    expect_that(values.is_all(20), "10 + 10");
  });
}

TEST_CASE("captured calls between devices are replayed, with other calls between the replays") {
  const bool reduces = GENERATE(false, true);
  const std::size_t count =
      GENERATE(from_range(cells<std::size_t>({10, 2 * half + 100}, {10, half + 100}))) / 4;
  replay_between_calls(init_on_device(reduces ? 3 : 2),
                       reduces ? Collective::all_reduce : Collective::all_gather, count);
}

}  // namespace
}  // namespace rondo::test
