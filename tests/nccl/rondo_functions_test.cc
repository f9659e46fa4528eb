// What rondo/nccl.h adds, on the host.
#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

ncclConfigExt_t option(int id, int value, ncclConfigExt_t* next = nullptr) {
  return {next, {RONDO_NCCL_VENDOR, id}, {value}};
}

ncclCollConfig_t config_with(ncclConfigExt_t& list) {
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.ext = &list;
  return config;
}

/// A sum of 16-bit floats, by their bits.
ncclResult_t sum_halves(ncclComm_t comm, std::vector<std::uint16_t>& halves, ncclConfigExt_t list) {
  const ncclCollConfig_t config = config_with(list);
  return ncclAllReduceConfig(halves.data(), halves.data(), halves.size(), ncclFloat16, ncclSum,
                             comm, nullptr, &config);
}

TEST_CASE("options of other vendors are ignored, wherever they stand") {
  with_members(2, [](int, ncclComm_t comm) {
    ncclConfigExt_t last{nullptr, {RONDO_NCCL_VENDOR + 1, 77}, {77}};
    ncclConfigExt_t ours = option(RONDO_NCCL_REPRODUCIBLE, 1, &last);
    std::vector<std::uint16_t> halves(3, 0x3c00);
    expect(sum_halves(comm, halves, {&ours, {1, RONDO_NCCL_REPRODUCIBLE}, {77}}));
    expect_that(halves == std::vector<std::uint16_t>(3, 0x4000), "1 + 1 is 2");
  });
}

TEST_CASE("a wrong option of rondo's is refused, and no call is made") {
  struct Wrong {
    ncclConfigExt_t option;
    const char* words;
  };
  with_members(2, [](int, ncclComm_t comm) {
    std::vector<std::uint16_t> halves(3);
    for (const auto& [wrong, words] :
         {Wrong{option(99, 1), "option 99 of a call is unknown"},
          Wrong{option(RONDO_NCCL_ACCUMULATE, ncclNumTypes), "ACCUMULATE is 12, which is no"},
          Wrong{option(RONDO_NCCL_ACCUMULATE, -1), "ACCUMULATE is -1"},
          Wrong{option(RONDO_NCCL_ACCUMULATE, ncclFloat64), "cannot be accumulated in float64"},
          Wrong{option(RONDO_NCCL_REPRODUCIBLE, 2), "REPRODUCIBLE is 2"}})
      refused(sum_halves(comm, halves, wrong), words);
    ncclConfigExt_t loop{nullptr, {1, 1}, {0}};
    loop.next = &loop;
    refused(sum_halves(comm, halves, loop), "may be a loop");
    expect_sum(comm, 1, 2);  // and the communicator still works
  });
}

TEST_CASE("calls that combine nothing take options, and refuse wrong ones") {
  with_members(2, [](int rank, ncclComm_t comm) {
    int value = rank;
    ncclConfigExt_t list = option(RONDO_NCCL_ACCUMULATE, ncclFloat64);
    const ncclCollConfig_t config = config_with(list);
    const auto send = [&] {
      return ncclBroadcastConfig(&value, &value, 1, ncclInt, 1, comm, nullptr, &config);
    };
    expect(send());
    expect_that(value == 1, "the root's");
    list.key.optionId = 0;
    refused(send(), "option 0 ");
  });
}

/// 2048 + 1 in a 16-bit float is 2048, so the sum is only right where it is rounded once. Which way
/// serves does not matter: more than a few hundred kilobytes go in two steps.
TEST_CASE("contributions are added in the type that the call asks for") {
  const std::size_t count = GENERATE(1, 500'000);
  with_members(4, [&](int rank, ncclComm_t comm) {
    std::vector<std::uint16_t> halves(count, rank == 0 ? 0x6800 : 0x3c00);
    expect(sum_halves(comm, halves, option(RONDO_NCCL_ACCUMULATE, ncclFloat32)));
    // 2051 lies between 2050 and 2052, the even one of which is 2052.
    expect_that(halves == std::vector<std::uint16_t>(count, 0x6802), "2048 + 1 + 1 + 1");
  });
}

TEST_CASE("ranks that ask for different ways of adding are told so") {
  const std::vector<ncclComm_t> comms = init_all(2);
  each_member(comms, [&](int rank, ncclComm_t comm) {
    std::vector<std::uint16_t> halves(100, 0x3c00);
    expect_error(sum_halves(comm, halves, option(RONDO_NCCL_REPRODUCIBLE, rank)), ncclInvalidUsage,
                 "reproducible");
    expect(ncclCommAbort(comm));
  });
}

TEST_CASE("a peer that makes no call is reported at the timeout that was set") {
  const std::vector<ncclComm_t> comms = init_all(2);
  float value = 1;
  expect(rondoCommSetTimeout(comms[0], 700));
  expect_error(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[0], nullptr),
               ncclRemoteError, "within 0.7 s: rank 1");
  abort_all(comms);
  refused(rondoCommSetTimeout(comms[0], 700), "was destroyed");
}

TEST_CASE("a timeout of zero is refused") {
  const std::vector<ncclComm_t> comms = init_all(1);
  refused(rondoCommSetTimeout(comms[0], 0), "0 ms");
  expect(rondoCommSetTimeout(comms[0], ~0U));
  destroy(comms);
}

TEST_CASE("operators on bits are for integers, and for their own communicator") {
  const std::vector<ncclComm_t> comms = init_all(2);
  ncclRedOp_t op = ncclSum;
  expect(rondoRedOpCreateBitwise(&op, rondoBitXor, comms[0]));
  float value = 1;
  const auto call = [&](ncclDataType_t type, ncclComm_t comm) {
    return ncclAllReduce(&value, &value, 1, type, op, comm, nullptr);
  };
  for (const auto type : {ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16, ncclFloat8e4m3})
    refused(call(type, comms[0]), "bit_xor");
  refused(call(ncclInt, comms[1]), "does not exist");
  refused(rondoRedOpCreateBitwise(nullptr, rondoBitAnd, comms[0]), "op is null");
  refused(rondoRedOpCreateBitwise(&op, numbered<rondoBitwise_t>(3), comms[0]),
          "bitwise operator 3");
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
