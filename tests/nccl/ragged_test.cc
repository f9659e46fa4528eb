// Collectives of rondo/nccl.h whose blocks differ in size, on the host.
#include "tests/catch.h"
#include "tests/nccl/calls.h"

namespace rondo::test {
namespace {

using Counts = std::vector<std::size_t>;
using Numbers = std::vector<int>;

TEST_CASE("a scalar multiplies blocks that differ in size, and operators on bits combine them") {
  with_members(2, [](int rank, ncclComm_t comm) {
    const Counts counts{1, 3};
    const int factor = rank + 1;
    ncclRedOp_t scaled = ncclSum;
    ncclRedOp_t odd = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&scaled, const_cast<int*>(&factor), ncclInt,
                                    ncclScalarHostImmediate, comm));
    expect(rondoRedOpCreateBitwise(&odd, rondoBitXor, comm));
    const Numbers all = rank == 0 ? Numbers{1, 2, 3, 4} : Numbers{10, 20, 30, 40};
    Numbers out(counts[static_cast<std::size_t>(rank)]);
    const auto reduce = [&](ncclRedOp_t op) {
      expect(
          rondoReduceScatterv(all.data(), out.data(), counts.data(), ncclInt, op, comm, nullptr));
    };
    reduce(scaled);
    expect_that(out == (rank == 0 ? Numbers{21} : Numbers{42, 63, 84}), "twice the second's");
    reduce(odd);
    expect_that(out == (rank == 0 ? Numbers{0x1 ^ 10} : Numbers{0x2 ^ 20, 0x3 ^ 30, 0x4 ^ 40}),
                "xor");
  });
}

TEST_CASE("one thread's group makes ragged calls for all ranks, and a simulated one counts them") {
  const std::vector<ncclComm_t> comms = init_all(3);
  const std::vector<Trial> trials{
      {{.call = {.collective = Collective::all_gather, .type = DataType::int32},
        .counts = {2, 0, 1'000'000}},
       3},
      {{.call = {.type = DataType::int32},
        .between = [](int, int to) { return std::size_t(to == 0 ? 1 : 0); }},
       3}};
  std::vector<std::vector<Bytes>> memories;
  for (const Trial& trial : trials)
    memories.push_back({trial.before(0), trial.before(1), trial.before(2)});
  const auto issue = [&] {
    expect(ncclGroupStart());
    for (int rank = 0; rank < 3; ++rank) {
      for (std::size_t i = 0; i < trials.size(); ++i) {
        std::byte* const memory = memories[i][static_cast<std::size_t>(rank)].data();
        expect(make_call(trials[i], rank, memory + trials[i].input(rank),
                         memory + trials[i].output(rank), comms[static_cast<std::size_t>(rank)],
                         nullptr));
      }
    }
  };
  issue();
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect(ncclGroupSimulateEnd(&info));
  CHECK(info.estimatedTime > 200);  // 4 MB at 0.1 ns a byte
  for (int rank = 0; rank < 3; ++rank)
    CHECK(memories[1][static_cast<std::size_t>(rank)] == trials[1].before(rank));
  issue();
  expect(ncclGroupEnd());
  for (int rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < trials.size(); ++i)
      CHECK_NOTHROW(trials[i].check(rank, memories[i][static_cast<std::size_t>(rank)].data()));
  }
  destroy(comms);
}

TEST_CASE("wrong counts, places and buffers of blocks are refused with a message") {
  with_members(2, [](int, ncclComm_t comm) {
    Numbers data(100);
    int* const in = data.data();
    int* const out = in + 50;
    const auto gather = [&](const void* from, void* to, const Counts& counts) {
      return rondoAllGatherv(from, to, counts.empty() ? nullptr : counts.data(), ncclInt, comm,
                             nullptr);
    };
    refused(gather(in, out, {}), "counts is null");
    refused(gather(in, out, {~std::size_t{0}, 2}), "address space");
    refused(gather(nullptr, out, {1, 2}), "input is null");
    refused(gather(out + 3, out, {2, 4}), "overlap in part");
    const auto exchange = [&](const Counts& sends, const Counts& receives, const Counts& places) {
      return rondoAllToAllv(in, sends.data(), nullptr, out, receives.data(),
                            places.empty() ? nullptr : places.data(), ncclInt, comm, nullptr);
    };
    refused(exchange({1, 1}, {1, 1}, {0, 0}), "received blocks overlap");
    refused(exchange({60, 60}, {60, 60}, {}), "in place");
    refused(rondoAllToAllv(in, nullptr, nullptr, out, nullptr, nullptr, ncclInt, comm, nullptr),
            "sendcounts is null");
    expect_sum(comm, 1, 2);  // and the communicator still works
  });
}

TEST_CASE("ranks whose counts differ are told so") {
  const bool exchanges = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_all(2);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    const Counts counts{5, rank == 0 ? std::size_t{5} : std::size_t{6}};
    const Counts fives{5, 5};
    Numbers data(100);
    if (exchanges) {  // rank 0 expects 5 of rank 1, which sends 6
      const Counts to_each{rank == 0 ? std::size_t{5} : std::size_t{6}, 5};
      const ncclResult_t result =
          rondoAllToAllv(data.data(), to_each.data(), nullptr, data.data() + 50, fives.data(),
                         nullptr, ncclInt, comm, nullptr);
      // Rank 1 may be done, and hears of it later.
      if (rank == 0) expect_error(result, ncclInvalidUsage, "all_to_all_v");
      expect(failure_of(comm), ncclInvalidUsage);
    } else {
      expect_error(
          rondoAllGatherv(data.data(), data.data() + 50, counts.data(), ncclInt, comm, nullptr),
          ncclInvalidUsage, "all_gather_v");
    }
    expect(ncclCommAbort(comm));
  });
}

}  // namespace
}  // namespace rondo::test
