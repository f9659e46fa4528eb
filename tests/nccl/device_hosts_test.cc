// Device buffers of ranks that take each other for other hosts: through pinned memory and a
// network, for every collective and type, and with failures. Also runs the cases [members] that
// way. Other files of such cases start threads, after which a process must not fork. hosts.h
// defines a rank here.
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "tests/catch.h"
#include "tests/nccl/check.h"
#include "tests/nccl/hosts.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr int ranks = 3;

TEST_CASE("every collective of every type between hosts", "[hosts]") {
  const std::size_t count = GENERATE(from_range(cells<std::size_t>({1, 1003}, {1003})));
  with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    for (const NcclType& type : nccl_types) {
      check_calls(rank, ranks, comm, every_collective(count, 2, type.type));
      for (const ReduceOperator op :
           {ReduceOperator::prod, ReduceOperator::max, ReduceOperator::min})
        check_calls(rank, ranks, comm,
                    {{.call = {.count = 3 * count,
                               .collective = Collective::all_reduce,
                               .type = type.type,
                               .op = op}}});
      check_calls(rank, ranks, comm, {every_pair(type.type, count)}, {.by_messages = true});
    }
  });
}

TEST_CASE("long collectives between hosts, in slices that take turns", "[hosts]") {
  const DataType type = GENERATE(
      from_range(cells<DataType>({DataType::int32, DataType::float16}, {DataType::int32})));
  with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    check_calls(rank, ranks, comm, every_collective(1'000'003, 1, type));
    check_calls(rank, ranks, comm, {every_pair(type, 500'003)}, {.by_messages = true});
  });
}

TEST_CASE("blocks that differ in size between hosts", "[hosts]") {
  with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    for (const auto& counts : ragged_counts(ranks))
      check_calls(rank, ranks, comm, every_ragged(counts, 2));
    check_calls(rank, ranks, comm, {every_pair(DataType::int32, 100, true)});
  });
}

TEST_CASE("between hosts nothing goes from device to device, and the log says why", "[hosts]") {
  for (const Ended& each :
       run_hosts(2, [](int, ncclComm_t comm) { expect_sum(comm, 1, 2); }, {"RONDO_DEBUG=INFO"})) {
    INFO(each.words);
    CHECK(each.status == 0);
    CHECK(each.words.find("GPU buffers go through the host's memory: rank 0: the ranks are on "
                          "several machines") != std::string::npos);
  }
}

/// Puts a call into the stream that waits for the other ranks.
void call(ncclComm_t comm, const DeviceBuffer<int>& buffer, std::size_t count,
          cudaStream_t stream) {
  expect(all_reduce(buffer, count, comm, stream));
}

TEST_CASE("all other hosts report a host that is killed in the middle of a call", "[hosts]") {
  const Ranks hosts = GENERATE(Ranks(3), Ranks(4, 2));
  const int last = hosts.all - 1;
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  const std::vector<Ended> ended = run_hosts(hosts, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    call(comm, buffer, count, stream);
    stream.finish();
    if (rank == last) ::kill(::getpid(), SIGKILL);
    // The call is refused at once where the death is known already.
    const ncclResult_t at_once = all_reduce(buffer, count, comm, stream);
    if (at_once != ncclSuccess) expect(at_once, ncclRemoteError);
    stream.finish();  // the call comes to its end
    expect(failure_of(comm), ncclRemoteError);
    expect_error(all_reduce(buffer, count, comm, stream), ncclRemoteError,
                 "rank " + std::to_string(last));
  });
  CHECK(ended.back().status == SIGKILL);
  for (int rank = 0; rank < last; ++rank) {
    INFO(ended[static_cast<std::size_t>(rank)].words);
    CHECK(ended[static_cast<std::size_t>(rank)].status == 0);
  }
}

TEST_CASE("an abort on one host ends calls and replays on all", "[hosts]") {
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  const bool captured = GENERATE(false, true);
  const Ranks hosts = GENERATE(Ranks(2), Ranks(4, 2));
  with_hosts(hosts, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    if (rank == 0) {
      expect(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
      return;
    }
    // The call may return the revocation's error, where that is known already.
    const auto reduce = [&] { all_reduce(buffer, count, comm, stream); };
    if (captured) {
      const CapturedGraph graph(stream, reduce);
      graph.launch(stream);
      graph.launch(stream);
      stream.finish();
    } else {
      reduce();
      stream.finish();
    }
    expect(failure_of(comm), ncclRemoteError);
  });
}

TEST_CASE("a buffer that is nobody's is refused between hosts, and the next call works",
          "[hosts]") {
  with_hosts(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> good(100, rank);
    const int* const freed = DeviceBuffer<int>(100).data();
    refused(ncclBroadcast(freed, good.data(), 100, ncclInt, rank, comm, stream),
            "neither host memory of this process nor memory of a GPU");
    call(comm, good, 100, stream);
    stream.finish();
    expect_that(good.is_all(1), "0 + 1");
  });
}

}  // namespace
}  // namespace rondo::test
