// Groups in which one thread makes the calls of all ranks: on devices, without messages.
#include "tests/catch.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

/// Not devices 2 and 3: other tests of this process break their contexts for good.
const std::vector<std::vector<int>> placements{{0}, {0, 0, 0}, {0, 1}, {1, 0, 1, 6}};

TEST_CASE("one thread's vector collectives on devices", "[together]") {
  const std::vector<int> device_of = placed(GENERATE(from_range(placements)));
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1000}, std::size_t{300'001});
  const auto ranks = static_cast<int>(device_of.size());
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, count, count);
  std::vector<int> sums(count);
  for (std::size_t i = 0; i < count; ++i) sums[i] = sum_at(i, ranks);

  const Launches launches;
  in_group(comms.size(), [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), count, ncclInt, ncclSum, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == sums);
  CHECK(launches.are(count == 1 ? 1 : devices_in(device_of)));

  const int root = ranks - 1;
  in_group(comms.size(), [&](std::size_t r) {
    expect(ncclBroadcast(all[r]->in.data(), all[r]->out.data(), count, ncclInt, root, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == values<int>(count, root));

  in_group(comms.size(), [&](std::size_t r) {
    expect(ncclReduce(all[r]->in.data(), all[r]->in.data(), count, ncclInt, ncclMax, 0, comms[r],
                      all[r]->stream));
  });
  in_group(comms.size(), [&](std::size_t r) {
    expect(ncclAllReduce(all[r]->out.data(), all[r]->out.data(), count, ncclInt, ncclMin, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->out.get() == values<int>(count, root));
  CHECK(all.front()->in.get() == values<int>(count, root));
  if (ranks > 1) CHECK(all.back()->in.get() == values<int>(count, root));
  destroy(comms);
  CHECK(fake_violations() == 0);
}

TEST_CASE("one thread's collectives with a block for each rank, in place too", "[together]") {
  const std::vector<int> device_of = placed(GENERATE(from_range(placements)));
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1003}, std::size_t{100'000});
  const auto ranks = device_of.size();
  const std::size_t whole = ranks * count;
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<int> all = make_ranks<int>(device_of, whole, whole);
  const auto block = [&](const std::vector<int>& of, std::size_t at) {
    return std::vector<int>(of.begin() + static_cast<std::ptrdiff_t>(at * count),
                            of.begin() + static_cast<std::ptrdiff_t>((at + 1) * count));
  };
  std::vector<int> sums(whole);
  for (std::size_t i = 0; i < whole; ++i) sums[i] = sum_at(i, static_cast<int>(ranks));

  in_group(ranks, [&](std::size_t r) {
    expect(ncclAlltoAll(all[r]->in.data(), all[r]->out.data(), count, ncclInt, comms[r],
                        all[r]->stream));
  });
  finish(all);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t s = 0; s < ranks; ++s)
      CHECK(block(all[r]->out.get(), s) == block(values<int>(whole, static_cast<int>(s)), r));
  }

  // In place: a rank's block of sums replaces that of its input, then all blocks are gathered.
  in_group(ranks, [&](std::size_t r) {
    expect(ncclReduceScatter(all[r]->in.data(), all[r]->in.data() + r * count, count, ncclInt,
                             ncclSum, comms[r], all[r]->stream));
    expect(ncclAllGather(all[r]->in.data() + r * count, all[r]->in.data(), count, ncclInt, comms[r],
                         all[r]->stream));
  });
  finish(all);
  for (const auto& rank : all) CHECK(rank->in.get() == sums);

  const int root = static_cast<int>(ranks) - 1;
  for (std::size_t r = 0; r < ranks; ++r) all[r]->in.set(values<int>(whole, static_cast<int>(r)));
  in_group(ranks, [&](std::size_t r) {
    expect(ncclGather(all[r]->in.data(), all[r]->out.data(), count, ncclInt, root, comms[r],
                      all[r]->stream));
  });
  finish(all);
  for (std::size_t s = 0; s < ranks; ++s)
    CHECK(block(all.back()->out.get(), s) == block(values<int>(whole, static_cast<int>(s)), 0));
  in_group(ranks, [&](std::size_t r) {
    expect(ncclScatter(all[r]->in.data(), all[r]->out.data(), count, ncclInt, root, comms[r],
                       all[r]->stream));
  });
  finish(all);
  for (std::size_t r = 0; r < ranks; ++r)
    CHECK(block(all[r]->out.get(), 0) == block(values<int>(whole, root), r));
  destroy(comms);
  CHECK(fake_violations() == 0);
}

/// For types in which the numbers are exact. The tests of the same kernels check the others.
template <class T>
void check_type(ncclDataType_t type) {
  const std::vector<int> device_of = placed({0, 0, 1});
  const std::vector<ncclComm_t> comms = init_on(device_of);
  const Ranks<T> all = make_ranks<T>(device_of, 777, 777);
  const auto reduce = [&](ncclRedOp_t op) {
    in_group(3, [&](std::size_t r) {
      expect(ncclAllReduce(all[r]->in.data(), all[r]->out.data(), 777, type, op, comms[r],
                           all[r]->stream));
    });
    finish(all);
    return all[1]->out.get();
  };
  const auto expected = [](const auto& combine) {
    std::vector<T> made(777);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<T>(combine(i % 7));
    return made;
  };
  CHECK(reduce(ncclSum) == expected([](std::size_t i) { return 3 * i + 6; }));
  CHECK(reduce(ncclProd) == expected([](std::size_t i) { return (i + 1) * (i + 2) * (i + 3); }));
  CHECK(reduce(ncclMax) == expected([](std::size_t i) { return i + 3; }));
  CHECK(reduce(ncclMin) == expected([](std::size_t i) { return i + 1; }));
  CHECK(reduce(ncclAvg) == expected([](std::size_t i) { return i + 2; }));
  destroy(comms);
}

TEST_CASE("one thread's reductions of several types and operators", "[together]") {
  check_type<std::int8_t>(ncclInt8);
  check_type<std::uint8_t>(ncclUint8);
  check_type<std::int32_t>(ncclInt32);
  check_type<std::uint64_t>(ncclUint64);
  check_type<double>(ncclFloat64);
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
