// Every collective in shared memory, against what the collective promises: whole calls over every
// transport that has it, in ordinary and in rondo::allocate() memory.
#include "core/plan/shared.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/execute/control_block.h"
#include "core/plan/prepared.h"
#include "core/schedule/collective.h"
#include "kernels/cpu/reduce.h"
#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/repeat.h"
#include "tests/sanitizers.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;

Schedule header(const Call& call, int ranks) {
  return {.collective = call.collective,
          .ranks = ranks,
          .root = call.root,
          .layout = make_layout(call.collective, ranks, 1)};
}

/// Where a buffer begins in the index space.
std::size_t begin_bytes(const Call& call, int ranks, Buffer buffer, int rank) {
  const Layout layout = make_layout(call.collective, ranks, 1);
  const Partition partition(layout, call.count, size_of(call.type));
  return partition.offset(held(call.collective, buffer, layout, rank, call.root).first) *
         size_of(call.type);
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
      if (!value->contributes(from)) continue;
      const std::size_t element =
          partition.offset(value->source_chunk) - begin(Buffer::input, from);
      operands.push_back(inputs[static_cast<std::size_t>(from)].data() +
                         element * size_of(call.type));
    }
    void* const to = output.data() +
                     (partition.offset(chunk) - begin(Buffer::output, rank)) * size_of(call.type);
    if (operands.size() == 1 && call.op != ReduceOperator::avg) {
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

TEST_CASE("calls that differ in their counts share a merged program") {
  SharedPlans plans(Collective::all_gather, 5, 0, 3);
  const Sharing copies{.places = Places::copies};
  const auto made = plans.of("one_shot", copies);
  for (const std::size_t count : {std::size_t{7}, std::size_t{100}}) {
    const Call call{.count = count, .collective = Collective::all_gather, .type = DataType::int32};
    const auto shared = prepare_shared({"one_shot", Places::copies}, call, plans);
    CHECK(shared->ordinary.plan == made);
    CHECK(shared->ordinary.bytes() == 5 * count * 4);
    CHECK(shared->ordinary.input(3).begin == 3 * count);
    REQUIRE(shared->ops.size() == 5);
    CHECK(shared->ops[1].output == 1 * count * 4);  // rank 3 begins with rank 2's chunk
  }
  CHECK(plans.of("one_shot", {.places = Places::buffers}) != made);
}

TEST_CASE("between two ranks a written schedule of two stages goes by messages") {
  const auto written = [](const char* algorithm, int ranks) {
    return SharedPlans(find_algorithm(Collective::all_reduce, algorithm)->build(ranks, 0), 0);
  };
  const Sharing copies{.places = Places::copies};
  CHECK(written("two_shot", 2).of("", copies) == nullptr);
  CHECK(written("two_shot", 2).of("", {.places = Places::buffers}) != nullptr);
  CHECK(written("two_shot", 3).of("", copies) != nullptr);
  CHECK(written("one_shot", 2).of("", copies) != nullptr);
  const auto shared = [&](std::size_t count) {
    SharedPlans plans = written("two_shot", 2);
    return prepare_shared(
        {"two_shot", Places::copies},
        {.count = count, .collective = Collective::all_reduce, .type = DataType::float32}, plans);
  };
  CHECK(shared(1000) == nullptr);
  REQUIRE(shared(1024) != nullptr);
  CHECK(shared(1024)->places == Places::buffers);  // but in windows
}

TEST_CASE("a barrier in shared memory waits for everybody") {
  SharedPlans plans(Collective::barrier, 5, 0, 2);
  const auto shared =
      prepare_shared({"one_shot", Places::copies}, {.collective = Collective::barrier}, plans);
  CHECK(shared->ops.empty());
  CHECK(shared->ordinary.awaited.size() == 4);
  CHECK(shared->ordinary.users.size() == 4);
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

void check_call(const Setting& setting, Call call, bool in_place) {
  // Long sums in ordinary memory go by messages, which add in rank order only where that is asked.
  const bool by_messages = setting.where != Where::everybody || is_scan(call.collective);
  call.reproducible = by_messages && info(call.collective).reduces && is_float(call.type);
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
    std::byte* input = in.data();
    std::byte* output = out.data();
    // In place the smaller buffer lies at its block of the larger one.
    if (in_place && !inputs[at].empty() && out_bytes > 0) {
      const std::size_t in_begin = begin_bytes(call, ranks, Buffer::input, rank);
      const std::size_t out_begin = begin_bytes(call, ranks, Buffer::output, rank);
      if (inputs[at].size() < out_bytes) {
        input = output + (in_begin - out_begin);
      } else {
        output = input + (out_begin - in_begin);
      }
    }
    std::copy(inputs[at].begin(), inputs[at].end(), input);
    test::make_call(setting.comms[at], call, input, output);
    results[at].assign(output, output + out_bytes);
    if (in_place) return;
    // The input is the caller's and stays as it was.
    if (!std::equal(inputs[at].begin(), inputs[at].end(), input))
      throw std::runtime_error("an input was changed");
  });
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    const bool right =
        results[static_cast<std::size_t>(rank)] == promised(call, ranks, rank, inputs);
    REQUIRE(right);  // a failure does not print the vectors
  }
}

/// Counts for inline payloads, for staging, and beyond every crossover of core/plan/shared_rules.h.
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
      if (!applies_to(op.op, collective)) continue;
      for (const std::size_t count : {std::size_t{7}, std::size_t{9001}}) {
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
  for (const int ranks : test::cells<int>({2, 3, 5}, {3}))
    check_everything("local", ranks, Where::nobody);
}

TEST_CASE("direct calls do what the collectives promise: shm, ordinary memory") {
  for (const int ranks : test::cells<int>({2, 3}, {3}))
    check_everything("shm", ranks, Where::nobody);
}

TEST_CASE("copies that do not fit the control block go in passes") {
  std::mt19937 random(778);
  for (const Where where : {Where::nobody, Where::even_ranks, Where::everybody}) {
    auto comms = Communicator::from_threads(5, {.transport = "shm", .algorithm = "direct"});
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_to_all,
          Collective::broadcast, Collective::all_gather}) {
      const Setting setting{comms, where, random};
      for (const std::size_t count : {std::size_t{70001}, std::size_t{99999}, std::size_t{400007}})
        check_call(setting,
                   {.count = collective == Collective::all_reduce ? count : count / 5,
                    .collective = collective,
                    .type = DataType::float32,
                    .root = info(collective).has_root ? 3 : 0},
                   collective != Collective::all_to_all);
    }
  }
}

TEST_CASE("a block that fits a slot does not lie where its rank announces its buffers") {
  constexpr int ranks = 5;
  const std::vector<std::size_t> counts{12, 65'536, 65'536, 65'536, 65'536};  // float32: 1 MiB
  const std::size_t all = 262'156;
  auto comms = Communicator::from_threads(ranks, {.transport = "shm", .algorithm = "direct"});
  for (const unsigned in_windows : {0b00000U, 0b10101U, 0b11110U, 0b00001U, 0b11111U}) {
    INFO("ranks in windows, a bit each: " << in_windows);
    std::vector<Bytes> results(ranks);
    test::on_all_ranks(ranks, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      const bool window = ((in_windows >> rank) & 1) != 0;
      Block in(counts[at] * sizeof(float), window);
      Block out(all * sizeof(float), window);
      std::fill_n(in.data(), counts[at] * sizeof(float), static_cast<std::byte>(rank + 1));
      comms[at].all_gather_v(in.data(), out.data(), counts, DataType::float32);
      results[at].assign(out.data(), out.data() + all * sizeof(float));
    });
    Bytes expected;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      expected.insert(expected.end(), counts[rank] * sizeof(float),
                      static_cast<std::byte>(rank + 1));
    for (const Bytes& result : results) {
      const bool right = result == expected;
      CHECK(right);
    }
  }
}

TEST_CASE("direct calls do what the collectives promise: shm, windows") {
  for (const int ranks : test::cells<int>({2, 3}, {3}))
    check_everything("shm", ranks, Where::everybody);
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
      const int places = static_cast<int>(detail::slots_for(ranks > cores));
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
