// The direct path of every collective, against what the collective promises: plans by themselves,
// then whole calls over every transport that has it, in ordinary and in rondo::allocate() memory.
#include "core/plan/direct.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/execute/board.h"
#include "core/plan/prepared.h"
#include "core/schedule/collective.h"
#include "kernels/cpu/reduce.h"
#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "tests/api/make_call.h"
#include "tests/api/threads.h"
#include "tests/catch.h"
#include "tests/repeat.h"
#include "tests/sanitizers.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;

Schedule header(const Call& call, int ranks) {
  return {.collective = call.collective,
          .ranks = ranks,
          .root = call.root,
          .layout = make_layout(call.collective, ranks, 1)};
}

std::size_t held_bytes(const Call& call, int ranks, Buffer buffer, int rank) {
  const Layout layout = make_layout(call.collective, ranks, 1);
  const Partition partition(layout, call.count, size_of(call.type));
  const ChunkSpan span = held(call.collective, buffer, layout, rank, call.root);
  return (partition.offset(span.first + span.count) - partition.offset(span.first)) *
         size_of(call.type);
}

/// The result that `rank` must hold, computed from all inputs at once.
Bytes promised(const Call& call, int ranks, int rank, const std::vector<Bytes>& inputs) {
  const Schedule schedule = header(call, ranks);
  const Partition partition(schedule.layout, call.count, size_of(call.type));
  const auto begin = [&](Buffer buffer, int of) {
    return partition.offset(held(call.collective, buffer, schedule.layout, of, call.root).first);
  };
  Bytes output(held_bytes(call, ranks, Buffer::output, rank));
  for (int chunk = 0; chunk < schedule.layout.chunks(); ++chunk) {
    const auto value = expected(schedule, rank, chunk);
    if (!value) continue;
    std::vector<const void*> operands;
    for (int from = 0; from < ranks; ++from) {
      if (value->rank >= 0 && value->rank != from) continue;
      const std::size_t element =
          partition.offset(value->source_chunk) - begin(Buffer::input, from);
      operands.push_back(inputs[static_cast<std::size_t>(from)].data() +
                         element * size_of(call.type));
    }
    void* const to = output.data() +
                     (partition.offset(chunk) - begin(Buffer::output, rank)) * size_of(call.type);
    if (value->rank >= 0) {
      std::memcpy(to, operands[0], partition.size(chunk) * size_of(call.type));
      continue;
    }
    const bool average = call.op == ReduceOperator::avg;
    reduce({.type = call.type,
            .op = average ? ReduceOperator::sum : call.op,
            .factor = average ? 1.0 / ranks : 1.0},
           std::array{to}, operands, partition.size(chunk));
    if (average) divide(call.type, to, static_cast<std::size_t>(ranks), partition.size(chunk));
  }
  return output;
}

constexpr std::array modes{DirectMode::one_shot, DirectMode::two_shot, DirectMode::push};

/// Every output chunk is made by exactly one move, of the right value, and every rank that is
/// touched knows its users.
void check_plans(Collective collective, DirectMode mode, int ranks, int root) {
  std::vector<DirectPlan> plans;
  for (int rank = 0; rank < ranks; ++rank)
    plans.push_back(plan_direct(collective, mode, ranks, root, rank));
  const Schedule schedule{
      .collective = collective, .ranks = ranks, .root = root, .layout = plans[0].layout};
  const auto chunks = static_cast<std::size_t>(schedule.layout.chunks());
  std::vector<int> made(static_cast<std::size_t>(ranks) * chunks);
  const auto has = [](const std::vector<std::int32_t>& list, int rank) {
    return std::count(list.begin(), list.end(), rank) == 1;
  };
  for (int maker = 0; maker < ranks; ++maker) {
    const DirectPlan& plan = plans[static_cast<std::size_t>(maker)];
    for (std::size_t round = 0; round < 2; ++round) {
      for (const Move& move : plan.rounds[round]) {
        for (const std::int32_t into : move.into) {
          ++made[static_cast<std::size_t>(into) * chunks + static_cast<std::size_t>(move.chunk)];
          const auto value = expected(schedule, into, move.chunk);
          REQUIRE(value);
          if (round == 0) CHECK(value->source_chunk == move.source_chunk);
          if (round == 0) CHECK(value->rank == move.from);
          CHECK((into == maker || has(plan.touches[round], into)));
        }
      }
      for (const std::int32_t peer : plan.touches[round])
        CHECK(has(plans[static_cast<std::size_t>(peer)].users, maker));
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const bool wanted = expected(schedule, rank, static_cast<int>(chunk)).has_value();
      CHECK(made[static_cast<std::size_t>(rank) * chunks + chunk] == (wanted ? 1 : 0));
    }
  }
}

TEST_CASE("direct plans make every output once, of the right inputs") {
  for (const CollectiveInfo& row : collectives) {
    if (row.collective == Collective::send_recv || is_token(row.collective)) continue;
    for (const DirectMode mode : modes) {
      for (const int ranks : {2, 3, 4, 8, 13}) {
        INFO(row.name << " mode " << static_cast<int>(mode) << " ranks " << ranks);
        for (int root = 0; root < (row.has_root ? ranks : 1); ++root)
          check_plans(row.collective, mode, ranks, root);
      }
    }
  }
}

TEST_CASE("a barrier's direct plan waits for everybody") {
  const DirectPlan plan = plan_direct(Collective::barrier, DirectMode::one_shot, 5, 0, 2);
  CHECK(plan.rounds[0].empty());
  CHECK(plan.touches[0].size() == 4);
  CHECK(plan.users.size() == 4);
}

TEST_CASE("calls that differ in their counts share a direct plan") {
  DirectPlans plans(Collective::all_gather, 5, 0, 3);
  const DirectPlan* const made = &plans.of(DirectMode::one_shot);
  for (const std::size_t count : {std::size_t{7}, std::size_t{100}}) {
    const Call call{.count = count, .collective = Collective::all_gather, .type = DataType::int32};
    const auto direct = prepare_direct({.staged = true}, call, plans);
    CHECK(direct->ordinary_memory.bytes() == 5 * count * 4);
    CHECK(direct->ordinary_memory.input(3).begin == 3 * count);
    REQUIRE(direct->shown.size() == 5);
    CHECK(direct->shown[1].output == 4 * count * 4);  // rank 3 begins with its own chunk
  }
  CHECK(made == &plans.of(DirectMode::one_shot));
  CHECK(made->rounds[0].size() == 5);
  CHECK(plans.of(DirectMode::push).mode == DirectMode::push);
}

/// A buffer in the kind of memory under test.
class Block {
 public:
  Block(std::size_t bytes, bool in_window) : ordinary_(in_window ? 0 : bytes) {
    if (in_window) window_ = allocate(std::max<std::size_t>(bytes, 1));
  }
  std::byte* data() { return window_ ? static_cast<std::byte*>(window_.data()) : ordinary_.data(); }

 private:
  Bytes ordinary_;
  Memory window_{};
};

/// Which ranks have their buffers in windows.
enum class Where : std::uint8_t { nobody, everybody, even_ranks };

struct Setting {
  std::vector<Communicator>& comms;
  Where where;
  std::mt19937& random;
};

/// Small non-negative numbers of any type: no byte makes a NaN or an overflow.
void fill(Bytes& input, std::mt19937& random) {
  const auto begin = static_cast<unsigned>(random());
  constexpr std::size_t period = 48 * 48;
  for (std::size_t i = 0; i < std::min(input.size(), period); ++i)
    input[i] = static_cast<std::byte>((begin + i * 7 + i / 48) % 48);
  test::repeat<std::byte>(input, period);
}

void check_call(const Setting& setting, const Call& call, bool in_place) {
  const int ranks = static_cast<int>(setting.comms.size());
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    Bytes input(held_bytes(call, ranks, Buffer::input, rank));
    fill(input, setting.random);
    inputs.push_back(std::move(input));
  }
  INFO(name(call.collective) << " ranks " << ranks << " root " << call.root << " count "
                             << call.count << " " << name(call.type) << " " << name(call.op)
                             << (in_place ? " in place" : "") << " windows "
                             << static_cast<int>(setting.where));
  std::vector<Bytes> results(static_cast<std::size_t>(ranks));
  test::on_all_ranks(ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool window =
        setting.where == Where::everybody || (setting.where == Where::even_ranks && rank % 2 == 0);
    const std::size_t out_bytes = held_bytes(call, ranks, Buffer::output, rank);
    Block in(inputs[at].size(), window);
    Block out(out_bytes, window);
    std::copy(inputs[at].begin(), inputs[at].end(), in.data());
    const bool same = in_place && inputs[at].size() == out_bytes;
    test::make_call(setting.comms[at], call, in.data(), same ? in.data() : out.data());
    const std::byte* const result = same ? in.data() : out.data();
    results[at].assign(result, result + out_bytes);
    if (same) return;
    // The input is the caller's and stays as it was.
    if (!std::equal(inputs[at].begin(), inputs[at].end(), in.data()))
      throw std::runtime_error("an input was changed");
  });
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    REQUIRE(results[static_cast<std::size_t>(rank)] == promised(call, ranks, rank, inputs));
  }
}

/// Counts for inline payloads, for staging, and beyond every crossover of core/plan/choose.cc.
constexpr std::array<std::size_t, 6> counts{1, 5, 300, 3001, 20011, 150001};

void check_collective(const Setting& setting, Collective collective) {
  const int ranks = static_cast<int>(setting.comms.size());
  const bool rooted = info(collective).has_root;
  for (const std::size_t count : counts) {
    const int root = rooted ? static_cast<int>(count) % ranks : 0;
    for (const bool in_place : {false, true}) {
      if (in_place && collective == Collective::all_to_all) continue;
      check_call(
          setting,
          {.count = count, .collective = collective, .type = DataType::float32, .root = root},
          in_place);
    }
  }
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (!info(collective).reduces && op.op != ReduceOperator::sum) continue;
      if (!applies_to(op.op, type.type) || !test::takes(type.type, op.op)) continue;
      for (const std::size_t count : {std::size_t{7}, std::size_t{9001}})
        check_call(setting,
                   {.count = count,
                    .collective = collective,
                    .type = type.type,
                    .op = op.op,
                    .root = rooted ? ranks - 1 : 0},
                   false);
    }
  }
}

void check_everything(const char* transport, int ranks, Where where) {
  std::mt19937 random(777);
  auto comms = Communicator::from_threads(ranks, {.transport = transport, .algorithm = "direct"});
  for (const CollectiveInfo& row : collectives) {
    if (row.collective == Collective::send_recv || is_token(row.collective)) continue;
    check_collective({comms, where, random}, row.collective);
  }
}

TEST_CASE("direct calls do what the collectives promise: threads") {
  for (const int ranks : {2, 3, 5}) check_everything("local", ranks, Where::nobody);
}

TEST_CASE("direct calls do what the collectives promise: shm, ordinary memory") {
  for (const int ranks : {2, 3}) check_everything("shm", ranks, Where::nobody);
}

TEST_CASE("direct calls do what the collectives promise: shm, windows") {
  for (const int ranks : {2, 3}) check_everything("shm", ranks, Where::everybody);
}

TEST_CASE("direct calls do what the collectives promise: shm, windows on some ranks") {
  check_everything("shm", 3, Where::even_ranks);
}

/// A vector of bytes that are all `value`, and rank 0's broadcast of it.
struct Given {
  explicit Given(std::size_t bytes, int value) : data(bytes, static_cast<std::uint8_t>(value)) {}
  Work broadcast(Communicator& comm) {
    return comm.broadcast_async(data.data(), data.data(), data.size(), DataType::uint8, 0);
  }
  std::vector<std::uint8_t> data;
};

void run_ahead(int ranks, const char* transport, std::size_t bytes, int calls) {
  INFO(ranks << " ranks, " << transport << ", " << bytes << " bytes");
  auto comms = Communicator::from_threads(ranks, {.transport = transport, .algorithm = "direct"});
  test::on_all_ranks(ranks, [&](int rank) { comms[static_cast<std::size_t>(rank)].barrier(); });
  std::vector<Given> given;
  for (int call = 0; call <= calls; ++call) given.emplace_back(bytes, call + 1);
  for (int call = 0; call < calls; ++call)
    REQUIRE(given[static_cast<std::size_t>(call)].broadcast(comms[0]).test());
  Work one_more = given.back().broadcast(comms[0]);
  CHECK_FALSE(one_more.test());  // its place is the first call's, which the others have yet to read
  for (const Given& expected : given) {
    for (std::size_t rank = 1; rank < comms.size(); ++rank) {
      Given taken(bytes, 0);
      taken.broadcast(comms[rank]).wait();
      CHECK(taken.data == expected.data);
    }
  }
  one_more.wait();
}

TEST_CASE("a rank that only gives runs ahead as far as its places in the control block reach") {
  for (const char* const transport : {"local", "shm"}) {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (const int ranks : {2, 3, cores + 1}) {
      if (ranks > 9) continue;
      const int places = static_cast<int>(detail::places_for(ranks > cores));
      for (const std::size_t bytes : {8, 48, 49, 2048}) run_ahead(ranks, transport, bytes, places);
      for (const std::size_t bytes : {2049, 16384}) run_ahead(ranks, transport, bytes, 2);
    }
  }
}

TEST_CASE("calls of all sizes share the control block, whichever rank is ahead") {
  constexpr int ranks = 3;
  constexpr std::array<std::size_t, 6> sizes{1, 48, 500, 2048, 2100, 9000};
  test::with_world(ranks, {.transport = "shm", .algorithm = "direct"}, [&](Communicator& comm) {
    std::mt19937 random(99);  // the same on every rank
    for (int call = 0; call < 2000; ++call) {
      const std::size_t bytes = sizes[random() % sizes.size()];
      const int root = static_cast<int>(random() % ranks);
      Given mine(bytes, call + comm.rank());
      comm.broadcast(mine.data.data(), mine.data.data(), bytes, DataType::uint8, root);
      if (mine.data != Given(bytes, call + root).data)
        throw std::runtime_error("wrong data in call " + std::to_string(call));
    }
  });
  SUCCEED("every byte came from its root");
}

}  // namespace
}  // namespace rondo
