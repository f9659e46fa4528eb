// Collectives of rondo/nccl.h whose blocks differ in size, on the host.
#include "tests/nccl/ragged.h"

#include "tests/catch.h"

namespace rondo::test {
namespace {

/// One rank's side.
struct Side {
  Counts counts;
  int rank;
  ncclComm_t comm;

  int ranks() const { return static_cast<int>(counts.size()); }
  std::size_t own_count() const { return counts[static_cast<std::size_t>(rank)]; }
  Numbers all() const { return numbers(counts, rank); }
  Numbers own() const { return block(all(), counts, rank); }
};

void check_gathers(const Side& at) {
  Numbers out(total(at.counts), -1);
  const Numbers own = at.own();
  expect(rondoAllGatherv(own.data(), out.data(), at.counts.data(), ncclInt, at.comm, nullptr));
  expect_that(out == gathered(at.counts), "rondoAllGatherv");
  out = at.all();
  int* const inside = out.data() + first_of(at.counts, at.rank);
  expect(rondoAllGatherv(inside, out.data(), at.counts.data(), ncclInt, at.comm, nullptr));
  expect_that(out == gathered(at.counts), "rondoAllGatherv in place");
  const int root = at.ranks() / 2;
  out.assign(out.size(), -1);
  expect(rondoGatherv(own.data(), at.rank == root ? out.data() : nullptr, at.counts.data(), ncclInt,
                      root, at.comm, nullptr));
  if (at.rank == root) expect_that(out == gathered(at.counts), "rondoGatherv");
}

void check_scatters(const Side& at) {
  const int root = at.ranks() / 2;
  Numbers out(at.own_count(), -1);
  const Numbers all = at.all();
  expect(rondoScatterv(at.rank == root ? all.data() : nullptr, out.data(), at.counts.data(),
                       ncclInt, root, at.comm, nullptr));
  expect_that(out == block(numbers(at.counts, root), at.counts, at.rank), "rondoScatterv");
  expect(rondoReduceScatterv(all.data(), out.data(), at.counts.data(), ncclInt, ncclSum, at.comm,
                             nullptr));
  expect_that(out == block(summed(at.counts), at.counts, at.rank), "rondoReduceScatterv");
  Numbers both = all;
  int* const inside = both.data() + first_of(at.counts, at.rank);
  expect(rondoReduceScatterv(both.data(), inside, at.counts.data(), ncclInt, ncclSum, at.comm,
                             nullptr));
  expect_that(block(both, at.counts, at.rank) == out, "rondoReduceScatterv in place");
}

void check_exchange(ncclComm_t comm, int rank, int ranks, bool displaced) {
  Counts out_counts;
  Counts in_counts;
  for (int peer = 0; peer < ranks; ++peer) {
    out_counts.push_back(sent(rank, peer));
    in_counts.push_back(sent(peer, rank));
  }
  const Counts out_places = displacements(out_counts);
  const Counts in_places = displacements(in_counts);
  const auto place = [&](const Counts& counts, const Counts& places, int peer) {
    return displaced ? places[static_cast<std::size_t>(peer)] : first_of(counts, peer);
  };
  Numbers in(3000, -1);
  Numbers wanted = in;
  Numbers out(3000, -2);
  for (int peer = 0; peer < ranks; ++peer) {
    for (std::size_t i = 0; i < sent(rank, peer); ++i)
      out[place(out_counts, out_places, peer) + i] =
          rank * 10'000 + peer * 1000 + static_cast<int>(i);
    for (std::size_t i = 0; i < sent(peer, rank); ++i)
      wanted[place(in_counts, in_places, peer) + i] =
          peer * 10'000 + rank * 1000 + static_cast<int>(i);
  }
  expect(rondoAllToAllv(out.data(), out_counts.data(), displaced ? out_places.data() : nullptr,
                        in.data(), in_counts.data(), displaced ? in_places.data() : nullptr,
                        ncclInt, comm, nullptr));
  expect_that(in == wanted, displaced ? "rondoAllToAllv, displaced" : "rondoAllToAllv");
}

TEST_CASE("blocks that differ in size") {
  const int ranks = GENERATE(1, 2, 3, 5);
  with_members(ranks, [&](int rank, ncclComm_t comm) {
    for (int pattern = 0; pattern < 3; ++pattern) {
      const Side at{counts_of(pattern, ranks), rank, comm};
      check_gathers(at);
      check_scatters(at);
    }
    for (const bool displaced : {false, true}) check_exchange(comm, rank, ranks, displaced);
  });
}

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
  const Counts counts{2, 0, 1'000'000};
  std::vector<Numbers> out(3, Numbers(total(counts)));
  std::vector<Numbers> own;
  for (int rank = 0; rank < 3; ++rank) own.push_back(block(numbers(counts, rank), counts, rank));
  Counts to_each{1, 0, 0};
  Numbers exchanged(3, -1);
  const auto issue = [&] {
    expect(ncclGroupStart());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      expect(rondoAllGatherv(own[rank].data(), out[rank].data(), counts.data(), ncclInt,
                             comms[rank], nullptr));
      const Counts from_each = rank == 0 ? Counts{1, 1, 1} : Counts{0, 0, 0};
      expect(rondoAllToAllv(&own[2][rank], to_each.data(), nullptr, exchanged.data(),
                            from_each.data(), nullptr, ncclInt, comms[rank], nullptr));
    }
  };
  issue();
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect(ncclGroupSimulateEnd(&info));
  CHECK(info.estimatedTime > 200);  // 4 MB at 0.1 ns a byte
  CHECK(exchanged == Numbers(3, -1));
  issue();
  expect(ncclGroupEnd());
  CHECK(out == std::vector<Numbers>(3, gathered(counts)));
  CHECK(exchanged == Numbers(own[2].begin(), own[2].begin() + 3));
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
    expect_error(gather(in, out, {}), ncclInvalidArgument, "counts is null");
    expect_error(gather(in, out, {~std::size_t{0}, 2}), ncclInvalidArgument, "address space");
    expect_error(gather(nullptr, out, {1, 2}), ncclInvalidArgument, "input is null");
    expect_error(gather(out + 3, out, {2, 4}), ncclInvalidArgument, "overlap in part");
    const auto exchange = [&](const Counts& sends, const Counts& receives, const Counts& places) {
      return rondoAllToAllv(in, sends.data(), nullptr, out, receives.data(),
                            places.empty() ? nullptr : places.data(), ncclInt, comm, nullptr);
    };
    expect_error(exchange({1, 1}, {1, 1}, {0, 0}), ncclInvalidArgument, "received blocks overlap");
    expect_error(exchange({60, 60}, {60, 60}, {}), ncclInvalidArgument, "in place");
    expect_error(
        rondoAllToAllv(in, nullptr, nullptr, out, nullptr, nullptr, ncclInt, comm, nullptr),
        ncclInvalidArgument, "sendcounts is null");
    expect_sum(comm, 1, 2);  // and the communicator still works
  });
}

TEST_CASE("ranks whose counts differ are told so") {
  const bool exchanges = GENERATE(false, true);
  const std::vector<ncclComm_t> comms = init_all(2);
  on_all_ranks(2, [&](int rank) {
    const ncclComm_t comm = comms[static_cast<std::size_t>(rank)];
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
