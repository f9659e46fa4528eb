// Calls as co-resident kernels: the same bits as the finite form, in the same order.
#include "core/resident/form.h"
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

/// A rank with two communicators of the same ranks.
class Twice {
 public:
  Twice(int rank, int ranks, ncclComm_t waiting, ncclComm_t finite)
      : rank_(rank), ranks_(static_cast<std::size_t>(ranks)), waiting_(waiting), finite_(finite) {}

  /// Makes the call on both, from equal inputs to outputs that begin `offset` bytes after an
  /// aligned place. `in_place`: input and output are one buffer.
  void check(const Call& call, std::size_t offset = 0, bool in_place = false) const {
    const std::vector<unsigned char> one = run(call, waiting_, offset, in_place);
    const std::vector<unsigned char> other = run(call, finite_, offset, in_place);
    if (one == other) return;
    const auto at = std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin();
    expect_that(false, to_string(call) + " root " + std::to_string(call.root) + ": byte " +
                           std::to_string(at) + " of " + std::to_string(one.size()) + " on rank " +
                           std::to_string(rank_));
  }

 private:
  std::vector<unsigned char> run(const Call& call, ncclComm_t comm, std::size_t offset,
                                 bool in_place) const {
    const DeviceStream stream;
    const std::size_t bytes = ranks_ * call.count * size_of(call.type) + offset;
    const Bytes in(small_numbers(bytes, rank_));
    const Bytes out(std::vector<unsigned char>(bytes, 255));
    const Bytes& to = in_place ? in : out;
    expect(make_call(call, in.data() + offset, to.data() + offset, comm, stream));
    stream.finish();
    return to.get();
  }

  int rank_;
  std::size_t ranks_;
  ncclComm_t waiting_;
  ncclComm_t finite_;
};

template <class Body>
void with_both(int ranks, const Body& body) {
  const std::vector<ncclComm_t> finite = init_on_own(ranks, "finite");
  run_on_own(init_on_own(ranks), [&](int rank, ncclComm_t comm) {
    body(Twice(rank, ranks, comm, finite[static_cast<std::size_t>(rank)]));
  });
  destroy(finite);
}

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

TEST_CASE("every collective has the finite form's result on both sides of every limit") {
  const int ranks = GENERATE(from_range(cells<int>({2, 3, 4, 8}, {3})));
  std::vector<Call> calls;
  int wanted = 0;
  for (const Case& each : every_collective(0, ranks - 1, DataType::float32)) {
    if (each.in_place) continue;
    for (const std::size_t count : counts_of(each.call.collective, ranks)) {
      calls.push_back(each.call);
      calls.back().count = count;
      wanted += waits(calls.back(), ranks) ? ranks : 0;
    }
  }
  const ResidentLaunches launches;
  with_both(ranks, [&](const Twice& rank) {
    for (const Call& call : calls) rank.check(call);
  });
  CHECK(launches.are(wanted));
  CHECK(wanted > static_cast<int>(calls.size()));
}

TEST_CASE("every type and operator of NCCL's, averages too, has the finite form's bits") {
  with_both(3, [](const Twice& rank) {
    for (const NcclType& type : nccl_types) {
      for (const auto& op : reduce_operators) {
        if (op.bitwise || !takes(type.type, op.op)) continue;
        if (looks_for_races && type.type != DataType::float32) continue;
        for (const std::size_t count :
             {std::size_t{999}, std::size_t{70'001} / size_of(type.type)}) {
          for (const Collective collective :
               {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
            rank.check({.count = count,
                        .collective = collective,
                        .type = type.type,
                        .op = op.op,
                        .root = 1});
        }
      }
    }
  });
}

TEST_CASE("calls in place, and buffers that are not aligned to their elements") {
  const ResidentLaunches launches;
  with_both(2, [](const Twice& rank) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{5000}, std::size_t{15'000}}) {
      for (const Collective collective : {Collective::all_reduce, Collective::broadcast})
        rank.check({.count = count, .collective = collective, .type = DataType::int32}, 0, true);
      for (const Collective collective :
           {Collective::all_gather, Collective::broadcast, Collective::all_to_all,
            Collective::scatter, Collective::gather})
        rank.check({.count = count, .collective = collective, .type = DataType::int64}, 3);
    }
  });
  CHECK(launches.are(2 * 3 * 7));
}

TEST_CASE("every collective against the oracle, in place too") {
  const int ranks = GENERATE(from_range(cells<int>({2, 4}, {4})));
  for (const std::size_t count : {std::size_t{7}, std::size_t{9000}})
    check_destroyed(init_on_own(ranks), every_collective(count, ranks - 1));
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
      expect(ncclAllReduce(values.data(), values.data(), 300'000, ncclInt, ncclSum, comm, first));
      expect(ncclAllReduce(values.data(), values.data(), 10, ncclInt, ncclSum, comm, second));
    }
    expect_that(values.get() == std::vector<int>(300'000, 1), "nothing before the gate opens");
    gate.open();
    second.finish();
    std::vector<int> wanted(300'000, 27);
    std::fill_n(wanted.begin(), 10, 729);
    expect_that(values.get() == wanted, "in the order of the calls");
  });
}

TEST_CASE("calls on windows are kernels that wait up to 256 KiB for each block, and copies above") {
  const auto [bytes, kernels] = GENERATE(table<std::size_t, int>(
      {{resident::least_stripes * (256 << 10), 2}, {resident::most_stripes * (256 << 10) + 4, 0}}));
  const ResidentLaunches launches;
  const std::size_t count = bytes / sizeof(int);
  run_on_own(init_on_own(2), [&, count = count](int rank, ncclComm_t comm) {
    const DeviceBuffer<int> memory(count, rank + 1);
    const DeviceStream stream;
    const Window window(comm, memory, count);
    expect(ncclAllReduce(memory.data(), memory.data(), count, ncclInt, ncclSum, comm, stream));
    stream.finish();
    expect_that(memory.get() == std::vector<int>(count, 3), "the sum");
  });
  CHECK(launches.are(kernels));
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
    expect(ncclAllReduce(one.data(), one.data(), 1, ncclInt, ncclSum,
                         comms[static_cast<std::size_t>(rank)], stream));
    stream.finish();
    expect_that(one.get() == std::vector<int>{static_cast<int>(comms.size())}, "the sum");
  });
  return launches.number();
}

TEST_CASE("communicators beyond what a device runs at once are finite on all ranks") {
  while (fake_blocks() > 0) std::this_thread::yield();  // those of other tests
  std::vector<std::vector<ncclComm_t>> all;
  for (int i = 0; i < 6; ++i) all.push_back(init_on_own(2));  // 48 of 96 blocks may wait
  const std::vector<ncclComm_t> beyond = init_on_own(2);
  for (const auto& comms : all) CHECK(waiting_calls(comms) == (RONDO_WITH_KERNELS != 0 ? 2 : 0));
  CHECK(waiting_calls(beyond) == 0);
  for (const auto& comms : all) destroy(comms);
  destroy(beyond);
  while (fake_blocks() > 0) std::this_thread::yield();  // their threads give all back
  const std::vector<ncclComm_t> again = init_on_own(2);
  CHECK(waiting_calls(again) == (RONDO_WITH_KERNELS != 0 ? 2 : 0));
  destroy(again);
}

TEST_CASE("ranks of one process on one device never wait in kernels") {
  const ResidentLaunches launches;
  with_devices(2, [](int, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> one(1, 1);
    expect(ncclAllReduce(one.data(), one.data(), 1, ncclInt, ncclSum, comm, stream));
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
  CHECK(waiting_calls(comms) == (RONDO_WITH_KERNELS != 0 ? 8 : 0));
  destroy(comms);
}

TEST_CASE("blocks of 32 threads, as many as a warp has, give the same bits") {
  fake_block_threads(32);
  const ResidentLaunches launches;
  with_both(2, [](const Twice& twice) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{5000}}) {
      twice.check(
          {.count = count, .collective = Collective::all_reduce, .type = DataType::float32});
      twice.check({.count = count, .collective = Collective::all_gather, .type = DataType::int32});
    }
  });
  fake_block_threads(2);
  CHECK(launches.are(2 * 6));
  CHECK(fake_races() == 0);
}

}  // namespace
}  // namespace rondo::test
