// Calls as co-resident kernels: the same bits as the finite form, in the same order.
#include "core/resident/form.h"
#include "core/resident/programs.h"
#include "core/schedule/layout.h"
#include "tests/catch.h"
#include "tests/resident/ranks.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

using resident::Form;

/// The program ends after the threads that give back the last communicators' memory. Otherwise
/// LeakSanitizer may look while they do it.
const struct Ending {
  ~Ending() { blocks_left(0); }
} ending;

/// Of all blocks, in the largest calls here: several passes.
constexpr std::size_t most_bytes = std::size_t{is_sanitized ? 1 : 3} << 20;

bool waits(const Call& call, int ranks) {
  return resident::choose(call, {.ranks = ranks, .one_machine = true, .direct = true}, {}).form !=
         Form::finite;
}

/// Makes the calls of ranks with a device each, whose results show the order of additions. Returns how
/// many kernels waited.
int checked(int ranks, const std::vector<Case>& cases) {
  const ResidentLaunches launches;
  check_destroyed(init_on_own(ranks), cases, {.values = Values::order_shows});
  return launches.number();
}

/// That number in a build without kernels.
int with_kernels(int number) { return RONDO_WITH_KERNELS != 0 ? number : 0; }

/// Counts on both sides of every limit. Eight ranks, whose threads crowd a host, have fewer.
std::vector<std::size_t> counts_of(Collective collective, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t blocks = is_vector(collective) ? 1 : parts;
  const std::size_t most = most_bytes / blocks / sizeof(float);
  if (ranks == 8) return {1001, collective == Collective::all_reduce ? 6145 : most};
  std::vector<std::size_t> counts{1, 1001, most};
  if (collective == Collective::all_reduce)
    counts.insert(counts.end(), {8192, 8193, 8192 * parts, 8192 * parts + 1});
  return counts;
}

TEST_CASE("every collective is right on both sides of every limit, in place too") {
  const int ranks = GENERATE(from_range(cells<int>({2, 3, 4, 8}, {3})));
  std::vector<Case> cases;
  int wanted = 0;
  for (const Case& each : every_collective(0, ranks - 1, DataType::float32)) {
    for (const std::size_t count : counts_of(each.call.collective, ranks)) {
      cases.push_back(each);
      cases.back().call.count = count;
      wanted += waits(cases.back().call, ranks) ? ranks : 0;
    }
  }
  CHECK(checked(ranks, cases) == with_kernels(wanted));
  CHECK(wanted > static_cast<int>(cases.size()));
}

TEST_CASE("every type and operator of NCCL's has the bits of rank order") {
  std::vector<Case> cases;
  for (const NcclType& type : nccl_types) {
    for (const ReduceOperator op : operators_of(type.type)) {
      if (looks_for_races && type.type != DataType::float32) continue;
      if (op == ReduceOperator::avg && is_float(type.type)) continue;  // numbers_test.cc has them
      for (const std::size_t count : {std::size_t{999}, std::size_t{70'001} / size_of(type.type)}) {
        for (const Collective collective :
             {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
          cases.push_back({.call = {.count = count,
                                    .collective = collective,
                                    .type = type.type,
                                    .op = op,
                                    .root = collective == Collective::reduce ? 1 : 0}});
      }
    }
  }
  checked(3, cases);
}

TEST_CASE("buffers that are not aligned to their elements") {
  std::vector<Case> cases;
  for (const std::size_t count : {std::size_t{10}, std::size_t{5000}, std::size_t{15'000}}) {
    for (Case& each : only(false, every_collective(count, 0, DataType::int64))) {
      each.offset = 3;
      cases.push_back(each);
    }
  }
  CHECK(checked(2, cases) == with_kernels(2 * static_cast<int>(cases.size())));
}

TEST_CASE("scaled contributions to calls that wait, with the scalar on the host or the device") {
  const ResidentLaunches launches;
  run_on_own(init_on_own(2), [](int rank, ncclComm_t comm) { check_scaled(rank, comm, 10'000); });
  CHECK(launches.are(4));
}

TEST_CASE("calls that wait and finite calls keep their order, whatever their streams") {
  run_on_own(init_on_own(3), [](int, ncclComm_t comm) {
    const DeviceStream first;
    const DeviceStream second;
    const DeviceBuffer<int> values(300'000, 1);
    StreamGate gate(first);
    for (int round = 0; round < 3; ++round) {
      expect(all_reduce(values, 300'000, comm, first));
      expect(all_reduce(values, 10, comm, second));
    }
    expect_that(values.is_all(1), "nothing before the gate opens");
    gate.open();
    second.finish();
    std::vector<int> wanted(300'000, 27);
    std::fill_n(wanted.begin(), 10, 729);
    expect_that(values.get() == wanted, "in the order of the calls");
  });
}

TEST_CASE("calls on windows use them, but all-reduces of more than 512 KiB for each block") {
  const auto [bytes, in_windows] = GENERATE(
      table<std::size_t, int>({{resident::least_stripes * resident::most_bytes_in_stages, 2},
                               {resident::least_stripes * resident::most_bytes_in_stages + 4, 0}}));
  const ResidentLaunches launches;
  const int before = fake_window_launches();
  const std::size_t count = bytes / sizeof(int);
  run_on_own(init_on_own(2), [&, count = count](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> memory(count, rank + 1);
    const DeviceStream stream;
    const Window window(comm, memory, count);
    expect(all_reduce(memory, count, comm, stream));
    stream.finish();
    expect_that(memory.is_all(3), "the sum");
  });
  CHECK(launches.are(2));
  CHECK(fake_window_launches() - before == (RONDO_WITH_KERNELS != 0 ? in_windows : 0));
}

TEST_CASE("a reduce-scatter on a window uses it, however long it is") {
  constexpr std::size_t count =
      resident::least_stripes * (std::size_t{600} << 10) / sizeof(int) / 2;
  const int before = fake_window_launches();
  run_on_own(init_on_own(2), [&](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> input(2 * count, rank + 1);
    const DeviceBuffer<int> output(count, 0);
    const DeviceStream stream;
    const Window window(comm, input, 2 * count);
    expect(ncclReduceScatter(input.data(), output.data(), count, ncclInt, ncclSum, comm, stream));
    stream.finish();
    expect_that(output.is_all(3), "the sum");
  });
  CHECK(fake_window_launches() - before == (RONDO_WITH_KERNELS != 0 ? 2 : 0));
}

TEST_CASE("two communicators that wait, called in a different order on each rank, and a child") {
  const ResidentLaunches launches;
  call_in_two_orders(init_on_own(2), init_on_own(2));
  CHECK(launches.are(42));
}

/// How many of `calls` small all-reduces on every rank were kernels that wait.
int waiting_calls(const std::vector<ncclComm_t>& comms) {
  const ResidentLaunches launches;
  on_all_ranks(static_cast<int>(comms.size()), [&](int rank) {
    cuCtxSetCurrent(device_context(rank));
    const DeviceStream stream;
    const DeviceBuffer<int> one(1, 1);
    expect(all_reduce(one, 1, comms[static_cast<std::size_t>(rank)], stream));
    stream.finish();
    expect_that(one.get() == std::vector<int>{static_cast<int>(comms.size())}, "the sum");
  });
  return launches.number();
}

TEST_CASE("communicators beyond what a device runs at once are finite on all ranks") {
  while (fake_blocks() > 0) std::this_thread::yield();  // those of other tests
  std::vector<std::vector<ncclComm_t>> all;
  for (int i = 0; i < 5; ++i) all.push_back(init_on_own(2));  // 45 of 60 blocks may wait
  const std::vector<ncclComm_t> beyond = init_on_own(2);
  for (const auto& comms : all) CHECK(waiting_calls(comms) == with_kernels(2));
  CHECK(waiting_calls(beyond) == 0);
  for (const auto& comms : all) destroy(comms);
  destroy(beyond);
  while (fake_blocks() > 0) std::this_thread::yield();  // their threads give all back
  const std::vector<ncclComm_t> again = init_on_own(2);
  CHECK(waiting_calls(again) == with_kernels(2));
  destroy(again);
}

TEST_CASE("ranks of one process on one device never wait in kernels") {
  const ResidentLaunches launches;
  with_devices(2, [](int, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> one(1, 1);
    expect(all_reduce(one, 1, comm, stream));
    stream.finish();
  });
  CHECK(launches.are(0));
}

TEST_CASE("a rank of eight takes at most 64 MB of device memory") {
  const std::vector<ncclComm_t> comms = init_on_own(8);
  std::uint64_t taken = 0;
  expect(ncclCommMemStats(comms[0], ncclStatGpuMemTotal, &taken));
  CHECK(taken <= std::uint64_t{64} << 20);
  CHECK((taken > std::uint64_t{16} << 20) == (RONDO_WITH_KERNELS != 0));
  CHECK(waiting_calls(comms) == with_kernels(8));
  destroy(comms);
}

TEST_CASE("blocks of 32 threads, as many as a warp has, give the same bits") {
  const WhileHere threads(fake_block_threads, 32U, 2U);
  std::vector<Case> cases;
  for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{5000}}) {
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather})
      cases.push_back(
          {.call = {.count = count, .collective = collective, .type = DataType::float32}});
  }
  CHECK(checked(2, cases) == with_kernels(2 * 6));
}

}  // namespace
}  // namespace rondo::test
