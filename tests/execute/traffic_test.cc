// Communicator::traffic() against what the schedules themselves send, and against the formulas.
#include <cstdlib>
#include <set>
#include <string>

#include "algorithms/table.h"
#include "core/schedule/collective.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;

struct World {
  std::vector<Communicator> ranks;
  Bytes input;
  std::vector<Bytes> outputs;

  World(int size, const Options& options)
      : ranks(Communicator::from_threads(size, options)), outputs(ranks.size()) {}

  /// What each rank sent during the call, by rank.
  std::vector<Traffic> sent(const Call& call) {
    const std::size_t most = (call.count + 1) * ranks.size() * size_of(call.type);
    input.resize(most);
    for (Bytes& output : outputs) output.resize(most);
    std::vector<Traffic> traffic(ranks.size());
    test::on_all_ranks(static_cast<int>(ranks.size()), [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Traffic before = ranks[at].traffic();
      test::make_call(ranks[at], call, input.data(), outputs[at].data());
      traffic[at] = ranks[at].traffic() - before;
    });
    return traffic;
  }
};

/// The schedule's own count: its sends, empty ones only where they travel.
Traffic of_schedule(const Schedule& schedule, const Partition& partition, int rank,
                    std::size_t element_bytes, bool empty_ones) {
  Traffic all;
  for (int lane = 0; lane < schedule.lanes; ++lane) {
    Steps steps = schedule.steps(rank, lane);
    while (const Step* step = steps.next()) {
      if (step->kind != StepKind::send) continue;
      const std::size_t bytes = partition.size(step->from) * element_bytes;
      if (bytes > 0 || empty_ones) ++all.messages;
      all.payload_bytes += bytes;
    }
  }
  return all;
}

void check_row(const Algorithm& row, int ranks, const std::string& transport,
               std::size_t header_bytes) {
  const std::string forced = std::string(name(row.collective)) + ":" + std::string(row.name);
  World world(ranks, {.transport = transport, .algorithm = forced});
  // 20011 elements take many passes of these slots; 5 leave some chunks empty.
  for (const std::size_t count : {0u, 1u, 5u, 301u, 20011u}) {
    const int root = info(row.collective).has_root ? static_cast<int>(count) % ranks : 0;
    const bool token = is_token(row.collective);
    const Call call{.count = token ? 0 : count,
                    .collective = row.collective,
                    .type = token ? Call{}.type : DataType::float32,
                    .root = root};
    const Schedule schedule = row.build(ranks, root);
    const std::size_t element = size_of(call.type);
    const Partition partition(schedule.layout, call.count, element);
    const bool empty_ones = token || (row.collective == Collective::send_recv && count == 0);
    const auto sent = world.sent(call);
    for (int rank = 0; rank < ranks; ++rank) {
      const Traffic& counted = sent[static_cast<std::size_t>(rank)];
      const Traffic expected = of_schedule(schedule, partition, rank, element, empty_ones);
      INFO(forced << " over " << transport << ", ranks " << ranks << ", rank " << rank << ", count "
                  << count);
      REQUIRE(counted.payload_bytes == expected.payload_bytes);
      REQUIRE(counted.messages == expected.messages);
      REQUIRE(counted.frames >= counted.messages);
      REQUIRE(counted.header_bytes == counted.frames * header_bytes);
      REQUIRE(counted.direct_bytes == 0);
    }
  }
}

TEST_CASE("payload and messages are the schedule's own: every algorithm over every transport") {
  ::setenv("RONDO_SLOT_BYTES", "4096", 1);
  struct Over {
    const char* transport;
    std::size_t header_bytes;
    std::vector<int> ranks;
  };
  const std::vector<Over> all{
      {"local", 24, {2, 3, 4, 7}}, {"shm", 24, {2, 3, 5}}, {"tcp", 16, {2, 3, 5}}};
  for (const Over& over : all) {
    for (const Algorithm& row : algorithms()) {
      for (const int ranks : over.ranks) check_row(row, ranks, over.transport, over.header_bytes);
    }
  }
  ::unsetenv("RONDO_SLOT_BYTES");
}

TEST_CASE("a long message is one message of several frames") {
  World world(2, {.transport = "tcp"});
  const std::size_t count = 1 << 20;
  const auto sent = world.sent({.count = count, .collective = Collective::send_recv});
  CHECK(sent[0].messages == 1);
  CHECK(sent[0].payload_bytes == count * size_of(Call{}.type));
  CHECK(sent[0].frames > 1);
  CHECK(sent[0].header_bytes == 16 * sent[0].frames);
  CHECK(sent[1] == Traffic{});
}

/// The bytes that a rank sends by a merged program. A value counts once for each peer that takes it.
struct Direct {
  Collective collective;
  std::uint64_t one_shot;  ///< bytes
  std::uint64_t shared;    ///< where ranks make a share each; two_shot, posted or not
};

std::uint64_t share_of(std::size_t count, int ranks, int rank) {
  const Layout layout = make_layout(Collective::all_reduce, ranks, ranks);
  const Partition partition(layout, count, sizeof(float));
  return (partition.offset(rank + 1) - partition.offset(rank)) * sizeof(float);
}

std::vector<Direct> direct_formulas(std::size_t count, int ranks, int rank) {
  const std::uint64_t n = count * sizeof(float);
  const auto others = static_cast<std::uint64_t>(ranks - 1);
  const bool root = rank == 0;
  const std::uint64_t own = share_of(count, ranks, rank);
  return {{Collective::all_reduce, others * n, n - own + others * own},
          {Collective::reduce_scatter, others * n, others * n},
          {Collective::all_gather, others * n, others * n},
          {Collective::broadcast, root ? others * n : 0, root ? others * n : 0},
          {Collective::reduce, root ? 0 : n, root ? n - own : n},
          {Collective::all_to_all, others * n, others * n},
          {Collective::scatter, root ? others * n : 0, root ? others * n : 0},
          {Collective::gather, root ? 0 : n, root ? 0 : n},
          {Collective::barrier, 0, 0}};
}

TEST_CASE("the direct path counts what crosses from rank to rank, by either of its formulas") {
  const std::string transport = GENERATE(as<std::string>(), "local", "shm");
  std::set<std::string> ways;
  for (const int ranks : {2, 3, 5}) {
    World world(ranks, {.transport = transport, .algorithm = "direct"});
    for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{1001},
                                    std::size_t{40003}, std::size_t{300007}}) {
      for (std::size_t row = 0; row < 9; ++row) {
        const Collective collective = direct_formulas(1, ranks, 0)[row].collective;
        const bool token = collective == Collective::barrier;
        const auto sent = world.sent({.count = token ? 0 : count,
                                      .collective = collective,
                                      .type = token ? Call{}.type : DataType::float32});
        for (int rank = 0; rank < ranks; ++rank) {
          const Direct formula = direct_formulas(count, ranks, rank)[row];
          const Traffic& counted = sent[static_cast<std::size_t>(rank)];
          INFO(name(collective) << " over " << transport << ", ranks " << ranks << ", rank " << rank
                                << ", count " << count);
          // Where ordinary memory of peers cannot be reached, the call goes by messages, in frames.
          if (counted.frames > 0) continue;
          const bool one_shot = counted.payload_bytes == formula.one_shot;
          REQUIRE((one_shot || counted.payload_bytes == formula.shared));
          REQUIRE(counted.direct_bytes == counted.payload_bytes);
          REQUIRE(counted.header_bytes == 0);
          if (token) REQUIRE(counted.messages == static_cast<std::uint64_t>(ranks - 1));
          if (collective == Collective::all_reduce && count > 0 && ranks > 2)
            ways.insert(one_shot ? "one_shot" : "shared");
        }
      }
    }
  }
  CHECK(ways == std::set<std::string>{"one_shot", "shared"});
}

TEST_CASE("two ranks that share the work send 2(P-1)/P N each, in windows and out of them") {
  const int ranks = GENERATE(2, 4);
  const std::size_t count = 1 << 18;
  test::with_world(ranks, {.transport = "shm", .algorithm = "direct"}, [&](Communicator& comm) {
    const Memory memory = allocate(count * sizeof(float));
    auto* const data = static_cast<float*>(memory.data());
    std::fill_n(data, count, 1.0F);
    comm.all_reduce(data, data, count, DataType::float32);
    const std::uint64_t n = count * sizeof(float);
    const auto p = static_cast<std::uint64_t>(comm.size());
    if (comm.traffic().payload_bytes != 2 * (p - 1) * n / p) throw std::runtime_error("not 2f N");
    if (comm.traffic().frames != 0) throw std::runtime_error("frames where memory is reached");
  });
}

TEST_CASE("a split communicator counts its own traffic, and a lone rank sends nothing") {
  test::with_world(2, {.transport = "local", .algorithm = "ring"}, [](Communicator& comm) {
    Communicator alone = comm.split(comm.rank());
    const Traffic before = comm.traffic();
    std::vector<float> data(1000);
    alone.all_reduce(data.data(), data.data(), data.size(), DataType::float32);
    Work send = comm.send_async(data.data(), 10, DataType::float32, comm.rank());
    comm.recv(data.data() + 20, 10, DataType::float32, comm.rank());
    send.wait();
    if (alone.traffic() != Traffic{}) throw std::runtime_error("alone, but sent something");
    if (comm.traffic() != before) throw std::runtime_error("another communicator's traffic");
  });
}

TEST_CASE("an empty handle has no traffic to tell") {
  const Communicator empty;
  CHECK_THROWS_AS(empty.traffic(), Error);
}

}  // namespace
}  // namespace rondo
