// Every collective, type and operator on the host against the oracle, and each rank's scalars.
#include "tests/catch.h"
#include "tests/kernels/elements.h"
#include "tests/nccl/calls.h"

namespace rondo::test {
namespace {

/// Makes the calls on every rank. What a rank does not read or write is null there, or is memory.
void check_calls(int ranks, const std::vector<Case>& cases, bool null) {
  std::vector<Trial> trials;
  for (const Case& each : cases) trials.emplace_back(each, ranks);
  with_members(ranks, [&](int rank, ncclComm_t comm) {
    for (const Trial& trial : trials) {
      trial.run(rank, [&](const std::byte* in, std::byte* out) {
        expect(make_call(trial, rank, null && trial.reads(rank) == 0 ? nullptr : in,
                         null && trial.writes(rank) == 0 ? nullptr : out, comm, nullptr));
      });
    }
  });
}

TEST_CASE("every collective, type and operator") {
  const int ranks = GENERATE(1, 2, 4);
  const std::size_t count = GENERATE(0, 1, 37);
  std::vector<Case> cases;
  for (const NcclType& type : nccl_types) {
    for (const ReduceOperator op : operators_of(type.type)) {
      for (const Case& each : every_collective(count, ranks / 2, type.type, op)) {
        if (op == ReduceOperator::sum || info(each.call.collective).reduces) cases.push_back(each);
      }
    }
  }
  for (const bool null : {false, true}) check_calls(ranks, cases, null);
}

TEST_CASE("blocks that differ in size") {
  const int ranks = GENERATE(1, 2, 3, 5);
  std::vector<Case> cases;
  for (const auto& counts : ragged_counts(ranks)) {
    for (const Case& each : every_ragged(counts, ranks / 2)) cases.push_back(each);
  }
  for (const bool displaced : {false, true})
    cases.push_back(every_pair(DataType::int32, 100, displaced));
  check_calls(ranks, cases, true);
}

TEST_CASE("messages of every type, and ncclBcast") {
  const int ranks = GENERATE(1, 2, 4);
  std::vector<Trial> messages;
  std::vector<Trial> broadcasts;
  for (const NcclType& type : nccl_types) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{37}}) {
      const Call broadcast{.count = count, .collective = Collective::broadcast, .type = type.type};
      messages.emplace_back(every_pair(type.type, count), ranks);
      broadcasts.emplace_back(Case{.call = broadcast, .in_place = true}, ranks);
    }
  }
  with_members(ranks, [&](int rank, ncclComm_t comm) {
    for (const Trial& trial : messages) {
      trial.run(rank, [&](const std::byte* in, std::byte* out) {
        pass_messages(trial, rank, in, out, comm, nullptr);
      });
    }
    for (const Trial& trial : broadcasts) {
      trial.run(rank, [&](const std::byte*, std::byte* out) {
        const Call& call = trial.given().call;
        expect(ncclBcast(out, call.count, number_of(call.type), 0, comm, nullptr));
      });
    }
  });
}

/// Sums of each rank's contributions, ones and twos, multiplied by its rank plus 2.
void check_premultiplied(int rank, ncclComm_t comm, NcclType type,
                         ncclScalarResidence_t residence) {
  constexpr std::size_t count = 1500;
  testing::with_element(type.type, [&]<class E>(E) {
    const std::size_t bytes = size_of(type.type);
    const auto given = [](int of, std::size_t i) { return 1 + static_cast<int>((i >> of) % 2); };
    const auto encode = [&](std::size_t elements, const auto& number) {
      Bytes made(elements * bytes);
      for (std::size_t i = 0; i < elements; ++i)
        E::store(made.data() + i * bytes, static_cast<typename E::Work>(number(i)));
      return made;
    };
    const Bytes mine = encode(2 * count, [&](std::size_t i) { return given(rank, i); });
    const Bytes total =
        encode(2 * count, [&](std::size_t i) { return 2 * given(0, i) + 3 * given(1, i); });
    Bytes scalar = encode(1, [&](std::size_t) { return rank + 2; });
    ncclRedOp_t op = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&op, scalar.data(), type.number, residence, comm));
    if (residence == ncclScalarHostImmediate) scalar.assign(scalar.size(), std::byte{0x7b});
    Bytes out = mine;
    expect(ncclAllReduce(out.data(), out.data(), 2 * count, type.number, op, comm, nullptr));
    expect_that(out == total, "PreMulSum in place");
    const Bytes input = mine;
    out.assign(count * bytes, std::byte{});
    expect(ncclReduceScatter(input.data(), out.data(), count, type.number, op, comm, nullptr));
    expect_that(
        std::memcmp(out.data(), total.data() + (rank == 0 ? 0 : out.size()), out.size()) == 0,
        "PreMulSum's ncclReduceScatter");
    expect_that(input == mine, "the input, untouched");
    expect(ncclRedOpDestroy(op, comm));
    refused(ncclRedOpDestroy(op, comm), "was not made for this");
  });
}

TEST_CASE("each rank's scalar multiplies before the sum, in every type") {
  const auto residence = GENERATE(ncclScalarHostImmediate, ncclScalarDevice);
  with_members(2, [&](int rank, ncclComm_t comm) {
    // Even e5m2, which has few digits, holds all sums exactly: 5, 7, 8 and 10.
    for (const NcclType& type : nccl_types) check_premultiplied(rank, comm, type, residence);
  });
}

TEST_CASE("a call's settings are checked before it is made") {
  with_members(2, [&](int rank, ncclComm_t comm) {
    float value = static_cast<float>(rank);
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
    expect(ncclAllReduceConfig(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr, &config));
    expect(ncclAllReduceConfig(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr, nullptr));
    expect_that(value == 2, "1 on both ranks, then 2");
    config.algSelection = "RING_LL";
    expect_error(ncclAllReduceConfig(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr, &config),
                 ncclInvalidUsage, "RING_LL");
    config.magic = 0;
    refused(ncclBroadcastConfig(&value, &value, 1, ncclFloat, 0, comm, nullptr, &config),
            "NCCL_COLLCONFIG_INITIALIZER");
  });
}

}  // namespace
}  // namespace rondo::test
