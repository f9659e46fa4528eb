// Calls of one group that depend on each other, and groups of several communicators.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

template <class Calls>
void in_one_group(const Calls& calls) {
  expect(ncclGroupStart());
  calls();
  expect(ncclGroupEnd());
}

TEST_CASE("a collective of a group reads what the one before writes") {
  constexpr int ranks = 3;
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1003}, std::size_t{400'000});
  run_on_device(init(way, ranks), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> values(numbers(ranks * count, rank));
    int* const block = values.data() + static_cast<std::size_t>(rank) * count;
    const DeviceBuffer<int> twice(ranks * count, -1);
    in_one_group([&] {
      expect(ncclReduceScatter(values.data(), block, count, ncclInt, ncclSum, comm, stream));
      expect(ncclAllGather(block, values.data(), count, ncclInt, comm, stream));
      expect(ncclBroadcast(values.data(), twice.data(), count, ncclInt, 1, comm, stream));
      expect(ncclAllReduce(twice.data(), values.data(), count, ncclInt, ncclSum, comm, stream));
    });
    stream.finish();
    std::vector<int> wanted = sums_of_numbers(ranks * count, ranks);
    for (std::size_t i = 0; i < count; ++i) wanted[i] *= ranks;
    expect_that(values.get() == wanted, "the sums, and those of the first block once more");
  });
}

TEST_CASE("collectives of a group keep their order, whatever way each goes") {
  constexpr int ranks = 3;
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1003}, std::size_t{400'000});
  run_on_device(init_on_device(ranks), [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const std::vector<int> mine = numbers(count, rank);
    const DeviceBuffer<int> given(mine);
    const DeviceBuffer<int> sums(count, -1);
    const DeviceBuffer<int> all(ranks * count, -1);
    const DeviceBuffer<int> passed_on(ranks * count, -1);
    std::vector<int> last(ranks * count, -1);
    const auto next = static_cast<std::size_t>((rank + 1) % ranks);
    in_one_group([&] {  // by the host's memory, between devices, both again, and messages
      expect(ncclAllReduce(mine.data(), sums.data(), count, ncclInt, ncclSum, comm, stream));
      expect(ncclAllGather(sums.data(), all.data(), count, ncclInt, comm, stream));
      expect(ncclAllReduce(all.data(), last.data(), ranks * count, ncclInt, ncclSum, comm, stream));
      expect(ncclBroadcast(all.data() + next * count, passed_on.data() + count, count, ncclInt, 2,
                           comm, stream));
      expect(ncclSend(given.data(), count, ncclInt, (rank + 1) % ranks, comm, stream));
      expect(ncclRecv(passed_on.data(), count, ncclInt, (rank + 2) % ranks, comm, stream));
    });
    stream.finish();
    const std::vector<int> wanted = sums_of_numbers(count, ranks);
    const std::vector<int> message = numbers(count, (rank + 2) % ranks);
    const std::vector<int> got = passed_on.get();
    const auto middle = got.begin() + static_cast<std::ptrdiff_t>(count);
    expect_that(sums.get() == wanted, "what came by the host's memory");
    expect_that(std::equal(message.begin(), message.end(), got.begin()), "a message among them");
    expect_that(std::equal(wanted.begin(), wanted.end(), middle), "a broadcast after them");
    for (std::size_t i = 0; i < last.size(); ++i)
      expect_that(last[i] == ranks * wanted[i % count], "what went back to the host");
  });
}

TEST_CASE("a captured group's collectives read what those before write") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  run_on_device(init(way, 2), [](int, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> values(1000, 1);
    const auto sum = [&] { expect(all_reduce(values, 1000, comm, stream)); };
    const CapturedGraph graph(stream, [&] {
      in_one_group([&] {
        for (int call = 0; call < 6; ++call) sum();  // more than there are slots
      });
    });
    graph.launch(stream);
    graph.launch(stream);
    stream.finish();
    expect_that(values.is_all(1 << 12), "the value doubled 12 times");
  });
}

/// Elements of a call that fills every queue, so that it waits for its peer.
constexpr std::size_t long_count = 9'000'000;

TEST_CASE("calls on the host begin while calls of the same group wait for room") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> hosts = init_on_device(2);
  run_on_device(init(way, 2), [&](int rank, ncclComm_t comm) {
    const ncclComm_t on_host = hosts[static_cast<std::size_t>(rank)];
    const DeviceStream stream;
    const DeviceBuffer<int> device(long_count, rank);
    std::vector<int> host(1'000'000, rank);  // more than channels hold
    const auto pass_host = [&] {
      expect(rank == 0 ? ncclSend(host.data(), host.size(), ncclInt, 1, on_host, nullptr)
                       : ncclRecv(host.data(), host.size(), ncclInt, 0, on_host, nullptr));
    };
    const auto pass_device = [&] {
      expect(rank == 0 ? ncclRecv(device.data(), long_count, ncclInt, 1, comm, stream)
                       : ncclSend(device.data(), long_count, ncclInt, 0, comm, stream));
    };
    if (rank == 0) {
      in_one_group([&] {
        pass_device();
        pass_host();
      });
    } else {  // its call on the host is complete before the other one begins
      pass_host();
      pass_device();
    }
    stream.finish();
    expect_that(host.back() == 0 && device.get().back() == 1, "what the peer sent");
  });
  destroy(hosts);
}

}  // namespace
}  // namespace rondo::test
