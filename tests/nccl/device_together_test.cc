// Groups in which one thread makes the calls of all ranks: on devices, without messages.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

/// Not devices 2 and 3: other tests of this process break their contexts for good.
const std::vector<std::vector<int>> placements{
    {0}, {0, 0, 0}, {0, 1}, {1, 0, 1, 6}, {0, 6, 1, 0, 0, 1, 0}};

TEST_CASE("one thread's collectives on devices, in place too", "[together]") {
  const std::vector<int> device_of = placed(GENERATE(from_range(placements)));
  const std::size_t count =
      GENERATE(from_range(cells<std::size_t>({1, 1003, 300'001}, {1003, 300'001})));
  const int last = static_cast<int>(device_of.size()) - 1;
  const int root = GENERATE_COPY(from_range(cells<int>({0, last}, {last})));
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const std::vector<Case> sum{
      {.call = {.count = count, .collective = Collective::all_reduce, .type = DataType::int32}}};
  const Launches launches;
  check_calls(comms, sum, {.by_one_thread = true});
  CHECK(launches.are(count == 1 ? 1 : devices_in(device_of)));
  check_calls(comms, every_collective(count, root), {.by_one_thread = true});
  destroy(comms);
}

TEST_CASE("one thread's reductions of every type and operator", "[together]") {
  std::vector<Case> cases;
  for (const NcclType& type : nccl_types) {
    for (const ReduceOperator op : operators_of(type.type)) {
      // Averages of floats are exact among two ranks, not among three.
      if (op == ReduceOperator::avg && is_float(type.type)) continue;
      cases.push_back(
          {.call = {
               .count = 777, .collective = Collective::all_reduce, .type = type.type, .op = op}});
    }
  }
  check_destroyed(init_on(placed({0, 0, 1})), cases, {.by_one_thread = true});
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16})
    check_destroyed(init_on(placed({0, 1})),
                    only(true, every_collective(777, 1, type, ReduceOperator::avg)),
                    {.by_one_thread = true});
}

TEST_CASE("one thread's ranks may have scalars of their own", "[together]") {
  const std::vector<int> device_of = placed({0, 0});
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<float> all = make_ranks<float>(device_of, 1000, 1000);
  std::vector<float> on_host{2, 3};
  const DeviceBuffer<float> on_device(std::vector<float>{10, 100});
  for (const bool later : {false, true}) {
    std::vector<ncclRedOp_t> ops(2);
    for (std::size_t r = 0; r < 2; ++r) {
      expect(ncclRedOpCreatePreMulSum(&ops[r], later ? on_device.data() + r : on_host.data() + r,
                                      ncclFloat, later ? ncclScalarDevice : ncclScalarHostImmediate,
                                      comms[r]));
    }
    in_group(2, [&](std::size_t r) {
      expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 1000, ncclFloat, ops[r], comms[r],
                           all[r]->stream));
    });
    finish(all);
    std::vector<float> expected(1000);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float digit = static_cast<float>(i % 7);
      expected[i] =
          later ? 10 * (digit + 1) + 100 * (digit + 2) : 2 * (digit + 1) + 3 * (digit + 2);
    }
    for (const auto& rank : all) CHECK(rank->out.get() == expected);
  }
  destroy(comms);
}

TEST_CASE("one thread's messages are copies, whatever their lengths", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 6}));
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, 50'000, 50'000);
  const Launches launches;
  in_group(3, [&](std::size_t r) {
    const int next = static_cast<int>(r + 1) % 3;
    const int before = static_cast<int>(r + 2) % 3;
    const auto& mine = *all[r];
    expect(ncclSend(mine.in.data(), 20'000, ncclInt, next, comms[r], mine.stream));
    expect(ncclRecv(mine.out.data(), 20'000, ncclInt, before, comms[r], mine.stream));
    expect(
        ncclSend(mine.in.data() + 20'000, 7, ncclInt, static_cast<int>(r), comms[r], mine.stream));
    expect(
        ncclRecv(mine.out.data() + 20'000, 7, ncclInt, static_cast<int>(r), comms[r], mine.stream));
  });
  finish(all);
  CHECK(launches.are(2 * devices_in(device_of)));
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<int> expected(50'000, 99);
    const std::vector<int> theirs = values<int>(50'000, static_cast<int>(r + 2) % 3);
    const std::vector<int> mine = values<int>(50'000, static_cast<int>(r));
    std::copy_n(theirs.begin(), 20'000, expected.begin());
    std::copy_n(mine.begin() + 20'000, 7, expected.begin() + 20'000);
    CHECK(all[r]->out.get() == expected);
  }
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
