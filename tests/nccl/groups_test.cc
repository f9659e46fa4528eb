// Groups: nesting, several communicators of one thread, and errors inside them.
#include <array>
#include <numeric>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

/// A value for each of several ranks that one thread holds.
std::vector<float> one_each(std::size_t ranks) {
  std::vector<float> values(ranks);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_CASE("one thread runs all ranks of a communicator in a group") {
  const int ranks = GENERATE(1, 2, 4, 8);
  const auto n = static_cast<std::size_t>(ranks);
  const std::vector<ncclComm_t> comms = init_all(ranks);
  std::vector<float> values = one_each(n);
  const float sum = std::accumulate(values.begin(), values.end(), 0.0F);
  expect(ncclGroupStart());
  for (std::size_t i = 0; i < n; ++i)
    expect(ncclAllReduce(&values[i], &values[i], 1, ncclFloat, ncclSum, comms[i], nullptr));
  CHECK(values == one_each(n));  // nothing happens before the end
  expect(ncclGroupEnd());
  CHECK(values == std::vector<float>(n, sum));
  destroy(comms);
}

TEST_CASE("groups nest; collectives and messages of many communicators mix") {
  const std::vector<ncclComm_t> first = init_all(3);
  const std::vector<ncclComm_t> second = init_all(3);
  std::vector<float> sums = one_each(3);
  std::vector<float> sent = one_each(3);
  std::vector<float> received(3);
  expect(ncclGroupStart());
  for (std::size_t i = 0; i < 3; ++i) {
    expect(ncclGroupStart());
    expect(ncclSend(&sent[i], 1, ncclFloat, static_cast<int>((i + 1) % 3), second[i], nullptr));
    expect(ncclAllReduce(&sums[i], &sums[i], 1, ncclFloat, ncclSum, first[i], nullptr));
    expect(ncclRecv(&received[i], 1, ncclFloat, static_cast<int>((i + 2) % 3), second[i], nullptr));
    expect(ncclGroupEnd());
  }
  CHECK(sums == one_each(3));
  expect(ncclGroupEnd());
  CHECK(sums == std::vector<float>{6, 6, 6});
  CHECK(received == std::vector<float>{3, 1, 2});
  destroy(first);
  destroy(second);
}

TEST_CASE("a rank sends to itself within a group, and cannot outside one") {
  const std::vector<ncclComm_t> comms = init_all(1);
  int from = 7;
  int to = 0;
  expect(ncclGroupStart());
  expect(ncclRecv(&to, 1, ncclInt, 0, comms[0], nullptr));
  expect(ncclSend(&from, 1, ncclInt, 0, comms[0], nullptr));
  expect(ncclGroupEnd());
  CHECK(to == 7);
  const ncclResult_t alone = ncclSend(&from, 1, ncclInt, 0, comms[0], nullptr);
  expect_error(alone, ncclInvalidUsage, "waits for ever");
  expect_error(alone, ncclInvalidUsage,
               ". Try: put ncclSend and ncclRecv between ncclGroupStart and ncclGroupEnd");
  destroy(comms);
}

TEST_CASE("one thread makes all ranks of a communicator in a group") {
  ncclUniqueId id = new_id();
  std::vector<ncclComm_t> comms(3);
  expect(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank)
    expect(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank));
  expect(ncclGroupEnd());
  std::vector<float> values = one_each(3);
  expect(ncclGroupStart());
  for (std::size_t i = 0; i < 3; ++i)
    expect(ncclAllReduce(&values[i], &values[i], 1, ncclFloat, ncclSum, comms[i], nullptr));
  expect(ncclGroupEnd());
  CHECK(values == std::vector<float>{6, 6, 6});
  destroy(comms);
}

TEST_CASE("ncclCommInitAll within a group") {
  std::array<ncclComm_t, 2> comms{};
  const std::array devices{3, 3};  // the same twice: several ranks share a device here
  expect(ncclGroupStart());
  expect(ncclCommInitAll(comms.data(), 2, devices.data()));
  expect(ncclGroupEnd());
  int device = 0;
  expect(ncclCommCuDevice(comms[1], &device));
  CHECK(device == 3);
  on_all_ranks(2, [&](int rank) { expect_sum(comms[static_cast<std::size_t>(rank)], 1, 2); });
  destroy({comms.begin(), comms.end()});
}

TEST_CASE("a group of several calls of one communicator that does not block") {
  run_members(init_without_blocking(2), [](int rank, ncclComm_t comm) {
    std::vector<int> sent(100'000, rank);
    std::vector<int> received(sent.size(), -1);
    std::vector<int> sums(sent.size(), rank + 1);
    expect(ncclGroupStart());
    expect(ncclSend(sent.data(), sent.size(), ncclInt, 1 - rank, comm, nullptr));
    expect(all_reduce(sums, sums.size(), comm, nullptr));
    expect(ncclRecv(received.data(), received.size(), ncclInt, 1 - rank, comm, nullptr));
    expect(ncclGroupEnd(), ncclInProgress);
    expect(settled(comm));
    expect_that(received == std::vector<int>(sent.size(), 1 - rank), "what the peer sent");
    expect_that(sums == std::vector<int>(sums.size(), 3), "the sum of both");
  });
}

TEST_CASE("an error within a group is returned again at its end, and none of its calls happens") {
  const std::vector<ncclComm_t> comms = init_all(2);
  std::vector<float> values = one_each(2);
  expect(ncclGroupStart());
  expect(ncclAllReduce(&values[0], &values[0], 1, ncclFloat, ncclSum, comms[0], nullptr));
  refused(ncclAllReduce(nullptr, &values[1], 1, ncclFloat, ncclSum, comms[1], nullptr),
          "ncclAllReduce: rondo: rank 1: input is null");
  refused(ncclGroupEnd(), "input is null");
  CHECK(values == one_each(2));
  on_all_ranks(2, [&](int rank) { expect_sum(comms[static_cast<std::size_t>(rank)], 2, 4); });
  destroy(comms);
}

TEST_CASE("a communicator that a failed group was to make does not exist") {
  ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  ncclComm_t other = nullptr;
  expect(ncclGroupStart());
  expect(ncclCommInitRank(&comm, 2, id, 0));
  refused(ncclCommInitRank(&other, 2, id, 2), "rank 2");
  refused(ncclGroupEnd(), "rank 2");
  CHECK(comm == nullptr);
  CHECK(other == nullptr);
}

TEST_CASE("ending a group without a start is an error") {
  expect_error(ncclGroupEnd(), ncclInvalidUsage, "in no group");
  expect_error(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage, "in no group");
}

TEST_CASE("a simulated group does not happen") {
  const std::vector<ncclComm_t> comms = init_all(2);
  float value = 1;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  info.estimatedTime = 5;
  expect(ncclGroupStart());
  expect(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[0], nullptr));
  expect(ncclGroupSimulateEnd(&info));
  CHECK(info.estimatedTime > 0);
  on_all_ranks(2, [&](int rank) { expect_sum(comms[static_cast<std::size_t>(rank)], 2, 4); });
  destroy(comms);
}

/// What a group of `body`'s calls would take.
template <class Body>
float estimate(Body&& body) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect(ncclGroupStart());
  body();
  expect(ncclGroupSimulateEnd(&info));
  return info.estimatedTime;
}

TEST_CASE("a simulated group's time is the cost model's") {
  const std::vector<ncclComm_t> comms = init_all(4);
  const std::vector<ncclComm_t> others = init_all(4);
  std::vector<float> values(1);  // never read
  float* const data = values.data();
  const auto reduce = [&](std::size_t count, ncclComm_t comm) {
    expect(ncclAllReduce(data, data, count, ncclFloat, ncclSum, comm, nullptr));
  };
  const auto alone = [&](std::size_t count) { return estimate([&] { reduce(count, comms[0]); }); };
  CHECK(estimate([] {}) == 0);
  CHECK(alone(0) < alone(1'000'000));
  CHECK(alone(1'000'000) < alone(10'000'000));
  // Any all-reduce of 4 ranks sends 3/2 of its 400 MB at least, at 0.1 ns a byte.
  CHECK(alone(100'000'000) >= 60'000);
  CHECK(alone(100'000'000) < 200'000);
  const float twice = estimate([&] {
    reduce(1'000'000, comms[0]);
    reduce(1'000'000, comms[0]);
  });
  CHECK(twice == Approx(2 * alone(1'000'000)));
  const float beside = estimate([&] {
    reduce(1'000'000, comms[0]);
    reduce(1'000, others[1]);
  });
  CHECK(beside == Approx(alone(1'000'000)));
  const float messages = estimate([&] {
    expect(ncclSend(data, 1'000'000, ncclFloat, 1, comms[0], nullptr));
    expect(ncclRecv(data, 1'000'000, ncclFloat, 1, comms[0], nullptr));
  });
  CHECK(messages == Approx(400.3));  // both ways at once: 0.3 us and 4 MB
  destroy(comms);
  destroy(others);
}

TEST_CASE("only the outermost end of a simulated group tells its time") {
  const std::vector<ncclComm_t> comms = init_all(2);
  float value = 1;
  ncclSimInfo_t inner = NCCL_SIM_INFO_INITIALIZER;
  const float whole = estimate([&] {
    expect(ncclGroupStart());
    expect(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comms[0], nullptr));
    expect(ncclGroupSimulateEnd(&inner));
  });
  CHECK(inner.estimatedTime == NCCL_UNDEF_FLOAT);
  CHECK(whole > 0);
  CHECK(value == 1);
  destroy(comms);
}

TEST_CASE("many calls of one communicator in a group") {
  with_members(2, [](int rank, ncclComm_t comm) {
    std::vector<int> values(64);
    std::iota(values.begin(), values.end(), rank);
    expect(ncclGroupStart());
    for (int& value : values)
      expect(ncclAllReduce(&value, &value, 1, ncclInt, ncclMax, comm, nullptr));
    expect(ncclGroupEnd());
    for (std::size_t i = 0; i < values.size(); ++i)
      expect_that(values[i] == static_cast<int>(i) + 1, "the larger of i and i + 1");
  });
}

}  // namespace
}  // namespace rondo::test
