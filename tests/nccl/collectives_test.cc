// Every collective, type and operator against NCCL's documentation. Numbers are small, so that
// every type holds them exactly and any order of adding gives the same bits.
#include <cmath>

#include "tests/catch.h"
#include "tests/kernels/elements.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

using Numbers = std::vector<double>;
using Bytes = std::vector<std::byte>;

constexpr std::array types{
    std::pair{ncclInt8, DataType::int8},
    std::pair{ncclUint8, DataType::uint8},
    std::pair{ncclInt32, DataType::int32},
    std::pair{ncclUint32, DataType::uint32},
    std::pair{ncclInt64, DataType::int64},
    std::pair{ncclUint64, DataType::uint64},
    std::pair{ncclFloat16, DataType::float16},
    std::pair{ncclFloat32, DataType::float32},
    std::pair{ncclFloat64, DataType::float64},
    std::pair{ncclBfloat16, DataType::bfloat16},
    std::pair{ncclFloat8e4m3, DataType::float8_e4m3},
    std::pair{ncclFloat8e5m2, DataType::float8_e5m2},
};
static_assert(types.size() == ncclNumTypes);

/// What rank `rank` gives: ones and twos, in a pattern of its own without a period.
Numbers given(int rank, std::size_t count) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = 1 + static_cast<double>(i * 2654435761U >> (20 + rank) & 1);
  return numbers;
}

Bytes encode(DataType type, const Numbers& numbers) {
  Bytes bytes(numbers.size() * size_of(type));
  testing::with_element(type, [&]<class E>(E) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      E::store(bytes.data() + i * sizeof(typename E::Storage),
               static_cast<typename E::Work>(numbers[i]));
    }
  });
  return bytes;
}

bool is_integer(ncclDataType_t type) { return type <= ncclUint64; }

/// All ranks' contributions as one.
Numbers combined(int ranks, std::size_t count, ncclRedOp_t op, bool integers) {
  Numbers total = given(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const Numbers more = given(rank, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (op == ncclProd) total[i] *= more[i];
      if (op == ncclMax) total[i] = std::max(total[i], more[i]);
      if (op == ncclMin) total[i] = std::min(total[i], more[i]);
      if (op == ncclSum || op == ncclAvg) total[i] += more[i];
    }
  }
  for (double& number : total) {
    if (op == ncclAvg) number /= ranks;
    if (op == ncclAvg && integers) number = std::trunc(number);
  }
  return total;
}

Numbers block(const Numbers& numbers, int index, std::size_t count) {
  const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(index * count);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// One rank's side of a test: its communicator, and how the numbers are stored.
struct Rank {
  int rank;
  int ranks;
  ncclComm_t comm;
  std::pair<ncclDataType_t, DataType> type;
  std::size_t count;

  ncclDataType_t nccl() const { return type.first; }
  Bytes bytes(const Numbers& numbers) const { return encode(type.second, numbers); }
  Bytes untouched(std::size_t elements) const { return Bytes(elements * size_of(type.second)); }
  std::size_t block_bytes() const { return count * size_of(type.second); }
  void check(const Bytes& got, const Numbers& wanted, const char* what) const {
    expect_that(got == bytes(wanted), what + std::string(" of type ") +
                                          std::string(name(type.second)) + " at rank " +
                                          std::to_string(rank) + " of " + std::to_string(ranks));
  }
};

void check_reductions(const Rank& at, ncclRedOp_t op) {
  const auto n = static_cast<std::size_t>(at.ranks);
  const int root = at.ranks - 1;
  const Numbers total = combined(at.ranks, at.count, op, is_integer(at.nccl()));
  const Bytes mine = at.bytes(given(at.rank, at.count));
  Bytes out = at.untouched(at.count);
  expect(ncclAllReduce(mine.data(), out.data(), at.count, at.nccl(), op, at.comm, nullptr));
  at.check(out, total, "ncclAllReduce");
  out = mine;
  expect(ncclAllReduce(out.data(), out.data(), at.count, at.nccl(), op, at.comm, nullptr));
  at.check(out, total, "ncclAllReduce in place");
  out = at.untouched(at.count);
  expect(ncclReduce(mine.data(), at.rank == root ? out.data() : nullptr, at.count, at.nccl(), op,
                    root, at.comm, nullptr));
  if (at.rank == root) at.check(out, total, "ncclReduce");

  const Numbers all = combined(at.ranks, at.count * n, op, is_integer(at.nccl()));
  Bytes blocks = at.bytes(given(at.rank, at.count * n));
  out = at.untouched(at.count);
  expect(ncclReduceScatter(blocks.data(), out.data(), at.count, at.nccl(), op, at.comm, nullptr));
  at.check(out, block(all, at.rank, at.count), "ncclReduceScatter");
  std::byte* const own = blocks.data() + static_cast<std::size_t>(at.rank) * at.block_bytes();
  expect(ncclReduceScatter(blocks.data(), own, at.count, at.nccl(), op, at.comm, nullptr));
  at.check({own, own + at.block_bytes()}, block(all, at.rank, at.count),
           "ncclReduceScatter in place");
}

/// Every rank's block, one after the other.
Numbers gathered(int ranks, std::size_t count) {
  Numbers all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Numbers more = given(rank, count);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void check_copies(const Rank& at) {
  const auto n = static_cast<std::size_t>(at.ranks);
  const int root = at.ranks / 2;
  const bool is_root = at.rank == root;
  const Numbers all = gathered(at.ranks, at.count);
  const Bytes mine = at.bytes(given(at.rank, at.count));
  Bytes out = at.untouched(at.count * n);
  expect(ncclAllGather(mine.data(), out.data(), at.count, at.nccl(), at.comm, nullptr));
  at.check(out, all, "ncclAllGather");
  out = at.untouched(at.count * n);
  std::byte* const own = out.data() + static_cast<std::size_t>(at.rank) * at.block_bytes();
  std::copy(mine.begin(), mine.end(), own);
  expect(ncclAllGather(own, out.data(), at.count, at.nccl(), at.comm, nullptr));
  at.check(out, all, "ncclAllGather in place");
  out = at.untouched(at.count * n);
  expect(ncclGather(mine.data(), is_root ? out.data() : nullptr, at.count, at.nccl(), root, at.comm,
                    nullptr));
  if (is_root) at.check(out, all, "ncclGather");
  out = at.untouched(at.count);
  expect(ncclBroadcast(is_root ? mine.data() : nullptr, out.data(), at.count, at.nccl(), root,
                       at.comm, nullptr));
  at.check(out, given(root, at.count), "ncclBroadcast");
  out = mine;
  expect(ncclBcast(out.data(), at.count, at.nccl(), root, at.comm, nullptr));
  at.check(out, given(root, at.count), "ncclBcast");

  const Bytes blocks = at.bytes(given(at.rank, at.count * n));
  out = at.untouched(at.count);
  expect(ncclScatter(is_root ? blocks.data() : nullptr, out.data(), at.count, at.nccl(), root,
                     at.comm, nullptr));
  at.check(out, block(given(root, at.count * n), at.rank, at.count), "ncclScatter");
  Numbers exchanged;
  for (int peer = 0; peer < at.ranks; ++peer) {
    const Numbers more = block(given(peer, at.count * n), at.rank, at.count);
    exchanged.insert(exchanged.end(), more.begin(), more.end());
  }
  out = at.untouched(at.count * n);
  expect(ncclAlltoAll(blocks.data(), out.data(), at.count, at.nccl(), at.comm, nullptr));
  at.check(out, exchanged, "ncclAlltoAll");
}

void check_messages(const Rank& at) {
  const int next = (at.rank + 1) % at.ranks;
  const int previous = (at.rank + at.ranks - 1) % at.ranks;
  const Bytes mine = at.bytes(given(at.rank, at.count));
  Bytes out = at.untouched(at.count);
  expect(ncclGroupStart());
  expect(ncclSend(mine.data(), at.count, at.nccl(), next, at.comm, nullptr));
  expect(ncclRecv(out.data(), at.count, at.nccl(), previous, at.comm, nullptr));
  expect(ncclGroupEnd());
  at.check(out, given(previous, at.count), "ncclSend and ncclRecv");
}

TEST_CASE("every collective, type and operator") {
  const int ranks = GENERATE(1, 2, 4);
  const std::size_t count = GENERATE(0, 1, 37);
  with_members(ranks, [&](int rank, ncclComm_t comm) {
    for (const auto& type : types) {
      const Rank at{rank, ranks, comm, type, count};
      for (int op = ncclSum; op < ncclNumOps; ++op) {
        check_reductions(at, static_cast<ncclRedOp_t>(op));
      }
      check_copies(at);
      check_messages(at);
    }
  });
}

TEST_CASE("these tests would notice wrong data") {
  const Rank at{0, 1, nullptr, types[7], 3};
  Bytes wrong = at.bytes({1, 2, 3});
  CHECK_NOTHROW(at.check(wrong, {1, 2, 3}, "right"));
  wrong.back() ^= std::byte{1};
  CHECK_THROWS(at.check(wrong, {1, 2, 3}, "wrong"));
  CHECK(combined(2, 100, ncclSum, false) != combined(2, 100, ncclProd, false));
  CHECK(given(0, 100) != given(1, 100));
}

/// Each rank multiplies by its rank plus 2 before the sum.
void check_premultiplied(const Rank& at, ncclScalarResidence_t residence) {
  Bytes scalar = at.bytes({at.rank + 2.0});
  ncclRedOp_t op = ncclSum;
  expect(ncclRedOpCreatePreMulSum(&op, scalar.data(), at.nccl(), residence, at.comm));
  if (residence == ncclScalarHostImmediate) scalar.assign(scalar.size(), std::byte{0x7b});
  Numbers total(at.count * 2);
  for (int rank = 0; rank < at.ranks; ++rank) {
    const Numbers more = given(rank, total.size());
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += more[i] * (rank + 2);
  }
  Bytes out = at.bytes(given(at.rank, total.size()));
  expect(ncclAllReduce(out.data(), out.data(), total.size(), at.nccl(), op, at.comm, nullptr));
  at.check(out, total, "PreMulSum in place");
  const Bytes mine = at.bytes(given(at.rank, total.size()));
  out = at.untouched(at.count);
  expect(ncclReduceScatter(mine.data(), out.data(), at.count, at.nccl(), op, at.comm, nullptr));
  at.check(out, block(total, at.rank, at.count), "PreMulSum's ncclReduceScatter");
  at.check(mine, given(at.rank, total.size()), "the input, untouched");
  expect(ncclRedOpDestroy(op, at.comm));
  expect_error(ncclRedOpDestroy(op, at.comm), ncclInvalidArgument, "was not made for this");
}

TEST_CASE("each rank's scalar multiplies before the sum, in every type") {
  const auto residence = GENERATE(ncclScalarHostImmediate, ncclScalarDevice);
  with_members(2, [&](int rank, ncclComm_t comm) {
    for (const auto& type : types) {
      // Even e5m2, which has few digits, holds all sums exactly: 5, 7, 8 and 10.
      check_premultiplied({rank, 2, comm, type, 1500}, residence);
    }
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
    expect_error(ncclBroadcastConfig(&value, &value, 1, ncclFloat, 0, comm, nullptr, &config),
                 ncclInvalidArgument, "NCCL_COLLCONFIG_INITIALIZER");
  });
}

}  // namespace
}  // namespace rondo::test
