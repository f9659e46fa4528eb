// Device buffers of several hosts with several GPUs each: calls in steps, inside hosts from GPU to GPU
// and across hosts through pinned memory. Ranks are processes (hosts.h).
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/check.h"
#include "tests/nccl/hosts.h"
#include "tests/sanitizers.h"
#include "tests/support/processes.h"

namespace rondo::test {
namespace {

constexpr std::size_t large = 100'001;  // elements: in steps, with a rest

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void sum(ncclComm_t comm, const DeviceBuffer<int>& buffer, std::size_t count, cudaStream_t stream) {
  expect(all_reduce(buffer, count, comm, stream));
}

/// Rank 0 serves the job. So it ends last: its end would be told instead of what comes first.
void end_behind(int others, int rank, const Gate& ended) {
  if (rank != 0) return ended.open(1);
  for (int each = 0; each < others; ++each) ended.pass();
}

TEST_CASE("every collective between the GPUs of hosts", "[hosts]") {
  const Ranks ranks = GENERATE(from_range(cells<Ranks>({{4, 2}, {6, 2}}, {{4, 2}})));
  with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    check_calls(rank, ranks.all, comm, every_collective(1003, 1));
    for (const int root : {0, ranks.all - 1})
      check_calls(rank, ranks.all, comm, every_collective(large, root));
    check_calls(rank, ranks.all, comm, every_collective(2 * large, 1, DataType::float16));
  });
}

TEST_CASE("every operator between the GPUs of hosts", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    for (const DataType type : {DataType::float32, DataType::int32}) {
      for (const ReduceOperatorInfo& each : reduce_operators) {
        if (each.bitwise && is_float(type)) continue;
        for (const Collective collective :
             {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter})
          check_calls(
              rank, 4, comm,
              {{.call = {.count = large, .collective = collective, .type = type, .op = each.op}}});
      }
    }
    const float scalar = 3;
    ncclRedOp_t scaled{};
    expect(ncclRedOpCreatePreMulSum(&scaled, const_cast<float*>(&scalar), ncclFloat,
                                    ncclScalarHostImmediate, comm));
    const DeviceStream stream;
    const DeviceBuffer<float> buffer(large, static_cast<float>(rank));
    expect(ncclAllReduce(buffer.data(), buffer.data(), large, ncclFloat, scaled, comm, stream));
    stream.finish();
    expect_that(buffer.is_all(18), "3 x (0 + 1 + 2 + 3)");
    const DeviceBuffer<float> at_root(large, 0);
    expect(ncclReduce(buffer.data(), at_root.data(), large, ncclFloat, scaled, 3, comm, stream));
    stream.finish();
    expect_that(at_root.is_all(rank == 3 ? 216 : 0), "3 x 4 x 18, on the root");
    expect(ncclRedOpDestroy(scaled, comm));
  });
}

TEST_CASE("calls in several slices of the scratch memory", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    for (const Collective collective :
         {Collective::reduce, Collective::reduce_scatter, Collective::scatter, Collective::gather,
          Collective::all_to_all}) {
      const std::size_t count = collective == Collective::reduce ? 4'500'001 : 1'100'000;
      const Call call{.count = count, .collective = collective, .type = DataType::int32, .root = 3};
      check_calls(rank, 4, comm, {{.call = call}});
      if (collective != Collective::all_to_all)
        check_calls(rank, 4, comm, {{.call = call, .in_place = true}});
    }
  });
}

TEST_CASE("calls of a group read what those before them write, in steps, too", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(large, rank == 1 ? 3 : 1);
    const DeviceBuffer<int> small(10, rank);
    const DeviceBuffer<int> all(4 * large, 0);
    expect(ncclGroupStart());
    expect(broadcast(buffer, 10, 1, comm, stream));
    sum(comm, buffer, large, stream);
    sum(comm, small, 10, stream);
    expect(ncclAllGather(buffer.data(), all.data(), large, ncclInt, comm, stream));
    expect(ncclGroupEnd());
    stream.finish();
    std::vector<int> block(large, 6);
    std::fill_n(block.begin(), 10, 12);
    std::vector<int> blocks;
    for (int each = 0; each < 4; ++each) blocks.insert(blocks.end(), block.begin(), block.end());
    expect_that(all.get() == blocks, "the blocks of sums");
    expect_that(small.is_all(6), "0 + 1 + 2 + 3");
  });
}

TEST_CASE("calls in steps follow each other, whatever their streams are", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    constexpr std::size_t count = 600'000;  // two slices of the scratch memory
    const DeviceStream one;
    const DeviceStream other;
    const DeviceBuffer<int> ones(4 * count, 1);
    const DeviceBuffer<int> twos(4 * count, 2);
    const DeviceBuffer<int> sums(count, 0);
    const DeviceBuffer<int> doubles(count, 0);
    StreamGate gate(one);
    const auto scatter = [&](const DeviceBuffer<int>& from, const DeviceBuffer<int>& to,
                             const DeviceStream& stream) {
      expect(ncclReduceScatter(from.data(), to.data(), count, ncclInt, ncclSum, comm, stream));
    };
    scatter(ones, sums, one);
    scatter(twos, doubles, other);
    sum(comm, sums, 10, other);  // not in steps
    gate.open();
    other.finish();
    std::vector<int> wanted(count, 4);
    expect_that(doubles.is_all(8), "2 x 4");
    std::fill_n(wanted.begin(), 10, 16);
    expect_that(sums.get() == wanted,
                "1 x 4, and the first ones 4 x 4, on rank " + std::to_string(rank));
  });
}

TEST_CASE("all ranks number their calls alike, in groups and alone, on the host and on GPUs",
          "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(large, 1);
    std::vector<int> host(10, 1);
    if (rank == 0) expect(ncclGroupStart());
    expect(all_reduce(host, 10, comm, stream));
    if (rank == 0) expect(ncclGroupEnd());
    sum(comm, buffer, large, stream);
    stream.finish();
    expect_that(buffer.is_all(4), "1 x 4");
  });  // ends with a comparison
}

TEST_CASE("roots that differ between hosts are told of at the end", "[hosts]") {
  const Gate ended_ranks;
  const std::vector<Ended> ended = run_hosts({4, 2}, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(large, 1);
    expect(broadcast(buffer, large, rank == 3 ? 1 : 0, comm, stream));
    stream.finish();
    expect(ncclCommFinalize(comm), ncclInvalidUsage);
    end_behind(3, rank, ended_ranks);
    throw std::runtime_error(ncclGetLastError(comm));
  });
  for (const Ended& each : ended)
    CHECK_THAT(each.words, Catch::Matchers::Contains("root 1, between GPUs"));
}

TEST_CASE("one rank alone may be told that its GPU reaches no other", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    ncclUniqueId id{};
    if (rank == 0) expect(ncclGetUniqueId(&id));
    expect(ncclBroadcast(&id, &id, sizeof id, ncclChar, 0, comm, nullptr));
    if (rank == 3) ::setenv("NCCL_P2P_DISABLE", "1", 1);
    ncclComm_t made = nullptr;
    expect(ncclCommInitRank(&made, 4, id, rank));
    {
      const DeviceStream stream;
      const DeviceBuffer<int> buffer(large, 1);
      sum(made, buffer, large, stream);
      stream.finish();
      expect_that(buffer.is_all(4), "1 x 4");
    }
    expect(ncclCommDestroy(made));
  });
}

TEST_CASE("one thread makes the calls of all GPUs of its host, in steps", "[hosts]") {
  with_hosts(2, [](int host, ncclComm_t hosts) {
    ncclUniqueId id{};
    if (host == 0) expect(ncclGetUniqueId(&id));
    expect(ncclBroadcast(&id, &id, sizeof id, ncclChar, 0, hosts, nullptr));
    std::vector<ncclComm_t> comms(2);
    expect(ncclGroupStart());
    for (int gpu = 0; gpu < 2; ++gpu) {
      cuCtxSetCurrent(device_context(gpu));
      expect(ncclCommInitRank(&comms[static_cast<std::size_t>(gpu)], 4, id, 2 * host + gpu));
    }
    expect(ncclGroupEnd());
    std::vector<std::unique_ptr<DeviceStream>> streams;
    std::vector<std::unique_ptr<DeviceStream>> later;
    std::vector<std::unique_ptr<DeviceBuffer<int>>> buffers;
    for (int gpu = 0; gpu < 2; ++gpu) {
      cuCtxSetCurrent(device_context(gpu));
      streams.push_back(std::make_unique<DeviceStream>());
      later.push_back(std::make_unique<DeviceStream>());
      buffers.push_back(std::make_unique<DeviceBuffer<int>>(30 * large, 1));
    }
    expect(ncclGroupStart());
    for (int turn = 0; turn < 2; ++turn)
      for (std::size_t gpu = 0; gpu < 2; ++gpu)
        sum(comms[gpu], *buffers[gpu], 30 * large, *streams[gpu]);
    expect(ncclGroupEnd());
    expect(ncclGroupStart());
    for (std::size_t gpu = 0; gpu < 2; ++gpu) sum(comms[gpu], *buffers[gpu], 100, *later[gpu]);
    expect(ncclGroupEnd());
    std::vector<int> wanted(30 * large, 16);
    std::fill_n(wanted.begin(), 100, 64);
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
      later[gpu]->finish();
      expect_that(buffers[gpu]->get() == wanted, "1 x 4 x 4, and the first ones x 4");
    }
    buffers.clear();
    streams.clear();
    later.clear();
    expect(ncclGroupStart());
    for (const ncclComm_t comm : comms) expect(ncclCommDestroy(comm));
    expect(ncclGroupEnd());
  });
}

TEST_CASE("a call in steps is one call in the trace, and its steps have traces of their own",
          "[hosts]") {
  const std::string name = "steps.trace";
  const std::filesystem::path folder(RONDO_TEST_FOLDER);
  with_hosts({4, 2},
             [](int, ncclComm_t comm) {
               const DeviceStream stream;
               const DeviceBuffer<int> buffer(large, 1);
               sum(comm, buffer, large, stream);
               stream.finish();
             },
             {"RONDO_TRACE=" + (folder / name).string()});
  std::map<std::string, int> found;  // words of calls on GPU buffers, in all files
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind(name, 0) != 0) continue;
    ++files;
    std::ifstream file(entry.path());
    for (std::string word; file >> word;)
      if (word == "hierarchical" || word == "between-devices" || word == "through-host")
        ++found[word];
    std::filesystem::remove(entry.path());
  }
  CHECK(files == 3 * 4);
  CHECK(found["hierarchical"] == 4);
  CHECK(found["between-devices"] == 4 * 3);  // with the rest of the vector
  CHECK(found["through-host"] == 4 * 2);
}

TEST_CASE("calls in steps are captured and replayed", "[hosts]") {
  const Collective collective =
      GENERATE(Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
               Collective::reduce, Collective::scatter, Collective::gather, Collective::all_to_all);
  with_hosts({4, 2},
             [&](int rank, ncclComm_t comm) { replay_call(rank, 4, comm, collective, large); });
}

TEST_CASE("a graph of calls in steps may outlive its communicator", "[hosts]") {
  with_hosts({4, 2}, [](int rank, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    expect(ncclCommSplit(comm, 0, rank, &child, nullptr));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(4 * large, 1);
    const CapturedGraph graph(stream, [&] {
      sum(child, buffer, large, stream);
      expect(ncclReduceScatter(buffer.data(),
                               buffer.data() + static_cast<std::size_t>(rank) * large, large,
                               ncclInt, ncclSum, child, stream));
    });
    graph.launch(stream);
    stream.finish();
    expect_that(buffer.get()[static_cast<std::size_t>(rank) * large] == (rank == 0 ? 16 : 4),
                "sums of sums on rank 0 alone");
    expect(ncclCommDestroy(child));
    graph.launch(stream);
    stream.finish();
  });
}

/// Rank 3 makes another call than the others, or has other buffers.
enum class Odd { count, collective, memory };

TEST_CASE("ranks that disagree about a call in steps are told so", "[hosts]") {
  const Odd odd = GENERATE(Odd::count, Odd::collective, Odd::memory);
  const std::string what = odd == Odd::memory ? "memory of different kinds" : "all_reduce #1";
  const Gate ended_ranks;
  const std::vector<Ended> ended = run_hosts({4, 2}, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(4 * large, 1);
    std::vector<int> host(large, 1);
    const bool other = rank == 3;
    const std::size_t count = other && odd == Odd::count ? large - 2 : large;
    int* const values = other && odd == Odd::memory ? host.data() : buffer.data();
    const auto call = [&] {
      return other && odd == Odd::collective
                 ? ncclAllGather(values + 3 * count, values, count, ncclInt, comm, stream)
                 : ncclAllReduce(values, values, count, ncclInt, ncclSum, comm, stream);
    };
    const ncclResult_t at_once = call();
    if (at_once != ncclSuccess) expect(at_once, ncclInvalidUsage);
    stream.finish();
    expect(failure_of(comm), ncclInvalidUsage);
    end_behind(3, rank, ended_ranks);
    throw std::runtime_error(ncclGetLastError(comm));
  });
  for (const Ended& each : ended) CHECK_THAT(each.words, Catch::Matchers::Contains(what));
}

TEST_CASE("a rank that does not come to a call in steps is named", "[hosts]") {
  const Gate ended_ranks;
  const std::vector<Ended> ended = run_hosts({4, 2},
                                             [&](int rank, ncclComm_t comm) {
                                               const DeviceStream stream;
                                               const DeviceBuffer<int> buffer(large, 1);
                                               sum(comm, buffer, large, stream);
                                               if (rank != 3) sum(comm, buffer, large, stream);
                                               stream.finish();
                                               expect(failure_of(comm), ncclRemoteError);
                                               end_behind(3, rank, ended_ranks);
                                               throw std::runtime_error(ncclGetLastError(comm));
                                             },
                                             {"RONDO_TIMEOUT=2"});
  for (const Ended& each : ended)
    CHECK_THAT(each.words,
               Catch::Matchers::Contains("all_reduce #2") && Catch::Matchers::Contains("rank 3"));
}

TEST_CASE("a host's GPUs take a part each of what crosses hosts, unless they are told otherwise",
          "[hosts]") {
  // In steps a rank's pinned memory takes its half of the vector, in and out.
  const auto copied = [](Ranks ranks, const Environment& more) {
    const auto body = [](int, ncclComm_t comm) {
      const DeviceStream stream;
      const DeviceBuffer<int> buffer(2 * large, 1);
      sum(comm, buffer, 2 * large, stream);  // what is copied once
      stream.finish();
      const std::size_t before = fake_copied_bytes();
      sum(comm, buffer, 2 * large, stream);
      stream.finish();
      throw std::runtime_error(std::to_string((fake_copied_bytes() - before) / sizeof(int)) +
                               " elements copied");
    };
    return run_hosts(ranks, body, more).front().words;
  };
  const std::string half = std::to_string(2 * large) + " elements";
  const std::string whole = std::to_string(4 * large) + " elements";
  CHECK(contains(copied({4, 2}, {}), half));
  CHECK(contains(copied({5, 2}, {}), whole));
  CHECK(contains(copied({4, 2}, {"NCCL_P2P_DISABLE=1"}), whole));
  CHECK(contains(copied({4, 2}, {"NCCL_ALGO=Ring"}), whole));
}

}  // namespace
}  // namespace rondo::test
