// What rondo/nccl.h adds, on device buffers: through the host's memory, between devices, and by one
// thread for all ranks. Also captured.

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

/// Makes the calls through the host's memory and between devices, also captured, and by one thread.
void check_every_way(int ranks, const std::vector<Case>& cases) {
  for (const How& how : {How{}, How{.captured = true}, How{.by_one_thread = true}}) {
    check_destroyed(init_on_device(ranks), cases, how);
    if (!how.by_one_thread) check_destroyed(init_through_host(ranks), cases, how);
  }
}

TEST_CASE("operators on bits of device buffers") {
  std::vector<Case> cases;
  for (const ReduceOperator op :
       {ReduceOperator::bit_and, ReduceOperator::bit_or, ReduceOperator::bit_xor})
    cases.push_back({.call = {.count = 300'001,
                              .collective = Collective::all_reduce,
                              .type = DataType::int32,
                              .op = op}});
  check_every_way(GENERATE(1, 2, 3), cases);
}

TEST_CASE("blocks of device buffers that differ in size") {
  // One block is longer than a slice, and one rank has none.
  const std::vector<std::size_t> counts =
      GENERATE(std::vector<std::size_t>{7}, std::vector<std::size_t>{3, 600'001},
               std::vector<std::size_t>{1000, 1, 0}, std::vector<std::size_t>{40, 0, 7, 40, 1});
  std::vector<Case> cases = every_ragged(counts, 0);
  for (const bool displaced : {false, true})
    cases.push_back(every_pair(DataType::int32, 100, displaced));
  check_every_way(static_cast<int>(counts.size()), cases);
}

TEST_CASE("operators on bits are refused for floats before anything is in a stream") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream stream;
  const DeviceBuffer<float> buffer(10, 1);
  ncclRedOp_t op = ncclSum;
  expect(rondoRedOpCreateBitwise(&op, rondoBitAnd, comms[0]));
  refused(ncclAllReduce(buffer.data(), buffer.data(), 10, ncclFloat, op, comms[0], stream),
          "bit_and");
  stream.finish();
  destroy(comms);
}

TEST_CASE("a peer that never comes to a call in a stream is reported at the timeout that was set") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(1000, 1);
  expect(rondoCommSetTimeout(comms[0], 600));
  expect(all_reduce(buffer, 1000, comms[0], stream));
  stream.finish();  // the failure releases it
  CHECK(failure_of(comms[0]) == ncclRemoteError);
  expect_error(ncclRemoteError, ncclRemoteError, "within 0.6 s: rank 1");
  abort_all(comms);
}

}  // namespace
}  // namespace rondo::test
