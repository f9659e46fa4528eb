// The host executor against the reference, over every algorithm, rank count, size, type and
// transport.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "algorithms/table.h"
#include "core/base/config.h"
#include "core/plan/sizes.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/repeat.h"
#include "tests/sanitizers.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"
#include "transports/table.h"

namespace rondo {
namespace {

const Arithmetic cpu_arithmetic{
    .reduce = [](DataType type, ReduceOperator op, void* out, std::span<const void* const> operands,
                 std::size_t count) { reduce(type, op, out, operands, count); },
    .scale = scale,
    .divide = divide};

/// Slots so small that even these tests' sizes need many passes.
constexpr const char* small_slots = "4096";

struct Case {
  const Algorithm& row;
  int ranks;
  int root;
  std::size_t count;
  DataType type;
  ReduceOperator op;
  bool in_place;
};

/// Small non-negative numbers of any type: bytes that are no NaN and no overflow.
Bytes random_input(std::size_t elements, DataType type, std::mt19937& random) {
  Bytes bytes(elements * size_of(type));
  const std::size_t fresh = std::min<std::size_t>(bytes.size(), 4099);
  std::generate_n(bytes.begin(), fresh, [&] { return static_cast<std::byte>(random() % 48); });
  test::repeat<std::byte>(bytes, fresh);
  return bytes;
}

Call call_of(const Case& c) {
  return {
      .count = c.count, .collective = c.row.collective, .type = c.type, .op = c.op, .root = c.root};
}

void check(std::vector<Communicator>& comms, const Case& c, std::mt19937& random) {
  const Schedule schedule = c.row.build(c.ranks, c.root);
  const Partition partition(schedule.layout, c.count, size_of(c.type));
  const auto elements = [&](Buffer buffer, int rank) {
    const ChunkSpan span = held(c.row.collective, buffer, schedule.layout, rank, c.root);
    return partition.offset(span.first + span.count) - partition.offset(span.first);
  };
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
  for (int rank = 0; rank < c.ranks; ++rank) {
    inputs.push_back(random_input(elements(Buffer::input, rank), c.type, random));
    outputs.emplace_back(elements(Buffer::output, rank) * size_of(c.type));
  }
  const std::vector<Bytes> expected =
      reference(schedule, partition, c.type, c.op, inputs, cpu_arithmetic);
  test::on_all_ranks(c.ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (c.in_place && inputs[at].size() == outputs[at].size()) {
      outputs[at] = inputs[at];
      test::make_call(comms[at], call_of(c), outputs[at].data(), outputs[at].data());
    } else {
      test::make_call(comms[at], call_of(c), inputs[at].data(), outputs[at].data());
    }
  });
  INFO(name(c.row.collective) << " " << c.row.name << " ranks " << c.ranks << " root " << c.root
                              << " count " << c.count << " " << name(c.type) << " " << name(c.op)
                              << (c.in_place ? " in place" : ""));
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    INFO("rank " << rank);
    REQUIRE((outputs[rank] == expected[rank]));  // megabytes are not to be printed
  }
}

/// Forces "all_reduce:ring", for example. Sends and receives cannot be forced.
Options forcing(const Algorithm& row, std::string_view transport) {
  return {.transport = std::string(transport),
          .algorithm = std::string(name(row.collective)) + ":" + std::string(row.name)};
}

void check_row(const Algorithm& row, int ranks, std::string_view transport) {
  std::mt19937 random(12345);
  std::vector<Communicator> comms = Communicator::from_threads(ranks, forcing(row, transport));
  const int roots = info(row.collective).has_root ? ranks : 1;
  for (const std::size_t count : {0u, 1u, 5u, 300u, 20011u}) {
    if (row.collective == Collective::barrier && count > 0) continue;
    const int root = static_cast<int>(count) % roots;
    for (const bool in_place : {false, true}) {
      if (in_place && row.collective == Collective::all_to_all) continue;
      check(comms, {row, ranks, root, count, DataType::float32, ReduceOperator::sum, in_place},
            random);
    }
  }
  if (row.collective == Collective::barrier) return;
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (!info(row.collective).reduces && op.op != ReduceOperator::sum) continue;
      if (!applies_to(op.op, type.type) || !test::takes(type.type, op.op)) continue;
      if (!applies_to(op.op, row.collective)) continue;
      check(comms, {row, ranks, roots - 1, 1000, type.type, op.op, false}, random);
    }
  }
}

TEST_CASE("executors equal the reference: every algorithm, over local") {
  ::setenv("RONDO_SLOT_BYTES", small_slots, 1);
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : test::cells<int>({1, 2, 3, 4, 5, 7}, {4, 5})) {
      if (row.collective == Collective::send_recv && ranks == 1) continue;
      check_row(row, ranks, "local");
    }
  }
}

TEST_CASE("executors equal the reference: results past the caches") {
  ::unsetenv("RONDO_SLOT_BYTES");
  std::mt19937 random(54321);
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier) continue;
    for (const int ranks : test::cells<int>({2, 4}, {2})) {
      std::vector<Communicator> comms = Communicator::from_threads(ranks, forcing(row, "local"));
      const std::size_t count =
          cached_results / sizeof(float) / static_cast<std::size_t>(ranks) | 1;
      // Each row runs in place or not: at this size both would take minutes under sanitizers.
      const bool in_place = ranks == 4 && row.collective != Collective::all_to_all;
      // Odd, so that blocks begin off the boundaries of vectors.
      check(comms, {row, ranks, 0, count, DataType::float32, ReduceOperator::sum, in_place},
            random);
    }
  }
}

TEST_CASE("executors equal the reference: every transport") {
  ::setenv("RONDO_SLOT_BYTES", small_slots, 1);
  const HostInfo here = describe_host(read_config());
  for (const TransportKind& kind : transport_kinds()) {
    if (const std::string obstacle = kind.obstacle(here, here); !obstacle.empty()) {
      WARN(kind.name << " is left out: " << obstacle);
      continue;
    }
    for (const Algorithm& row : algorithms()) check_row(row, 3, kind.name);
  }
}

}  // namespace
}  // namespace rondo
