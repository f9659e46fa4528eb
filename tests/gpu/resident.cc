// The co-resident kernel on one device, where ranks are blocks of one launch: every algorithm
// against the reference.
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"
#include "tests/gpu/group.h"
#include "tests/gpu/report.h"

namespace rondo::gpu_test {
namespace {

using device::ArenaShape;
using device::Protocol;
using device::SmallAlgorithm;
using device::test::Lowered;

/// How often a wait looks before it gives up: for seconds, at a microsecond or less each.
constexpr std::uint64_t patience = 4'000'000;

std::string_view name(Protocol protocol) {
  return protocol == Protocol::bulk ? "bulk" : "low_latency";
}

/// Slots are small and flags repeat soon, for many passes and many periods.
ArenaShape small_arena(const Lowered& lowered) {
  return {.ranks = static_cast<std::uint32_t>(lowered.schedule.ranks),
          .stripes = static_cast<std::uint32_t>(3 * lowered.schedule.lanes),
          .packet_stripes = static_cast<std::uint32_t>(3 * lowered.schedule.lanes),
          .depth = static_cast<std::uint32_t>(lowered.traits.depth),
          .frame_bytes = 8192,
          .packets = 512,
          .mailbox = 64,
          .flag_period = 64,
          .wipe_interval = 8};
}

struct Case {
  std::size_t count;
  DataType type;
  ReduceOperator op;
  Protocol protocol;
  bool in_place;
};

/// True when every rank's output is the reference's.
bool right(const Lowered& lowered, const Group& group, const Case& c) {
  const Schedule& schedule = lowered.schedule;
  const rondo::Call made{.count = c.count,
                         .collective = schedule.collective,
                         .type = c.type,
                         .op = c.op,
                         .root = schedule.root};
  const auto [inputs, expected] = rondo::test::expected_of({.call = made}, schedule);
  std::vector<Call::Rank> ranks;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    ranks.push_back({.part = lowered.prepare(static_cast<int>(rank), c.count, c.type, c.op,
                                             c.protocol, group.shape()),
                     .input = inputs[rank],
                     .output_bytes = expected[rank].size(),
                     .in_place = c.in_place && inputs[rank].size() == expected[rank].size()});
  }
  const Call call(group, ranks);
  call.launch(nullptr);
  bool same = true;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Bytes output = call.output(rank);
    if (info(schedule.collective).reduces && c.op == ReduceOperator::avg)
      divide(c.type, output.data(), ranks.size(), output.size() / size_of(c.type));
    same = output == expected[rank] && same;
  }
  return same;
}

int check_row(const Algorithm& row, int ranks, bool all_types) {
  const Lowered lowered(row, ranks, info(row.collective).has_root ? ranks / 2 : 0);
  const Group group(small_arena(lowered), patience);
  int wrong = 0;
  const auto check = [&](const Case& c) {
    if (right(lowered, group, c) && group.failures().empty()) return;
    ++wrong;
    Line("wrong")
        .text("collective", rondo::name(row.collective))
        .text("algorithm", row.name)
        .number("ranks", ranks)
        .number("count", static_cast<double>(c.count))
        .text("type", rondo::name(c.type))
        .text("op", rondo::name(c.op))
        .text("protocol", name(c.protocol))
        .text("failures", group.failures());
  };
  const bool aliases = row.collective != Collective::all_to_all;
  for (const Protocol protocol : {Protocol::low_latency, Protocol::bulk}) {
    for (const std::size_t count : {0, 1, 37, 50003}) {
      if (row.collective == Collective::barrier && count > 0) continue;
      check({count, DataType::float32, ReduceOperator::sum, protocol, aliases && count == 37});
    }
    if (!all_types || row.collective == Collective::barrier) continue;
    for (const auto& type : data_types) {
      for (const auto& op : reduce_operators) {
        const bool meant = info(row.collective).reduces || op.op == ReduceOperator::sum;
        if (meant && applies_to(op.op, type.type)) check({1001, type.type, op.op, protocol, false});
      }
    }
  }
  return wrong;
}

/// The calls of a small all-reduce on `group`, float32 sums.
class SmallCalls {
 public:
  SmallCalls(const Group& group, SmallAlgorithm algorithm, std::size_t count,
             const std::vector<Bytes>& inputs) {
    std::vector<device::SmallCall> calls;
    for (std::uint32_t rank = 0; rank < group.shape().ranks; ++rank) {
      inputs_.emplace_back(inputs[rank]);
      outputs_.emplace_back(count * sizeof(float));
      calls.push_back({.input = inputs_.back().data(),
                       .output = outputs_.back().data(),
                       .arenas = group.arenas(),
                       .control = group.control(rank),
                       .arena = group.shape(),
                       .rank = rank,
                       .count = count,
                       .algorithm = algorithm});
    }
    calls_ = device::DeviceMemory(calls);
    launch_ = {
        .calls = calls_.as<device::SmallCall>(), .ranks = group.shape().ranks, .threads = 64};
  }
  void launch(void* stream) const { launch_small(launch_, stream); }
  Bytes output(std::size_t rank) const {
    Bytes bytes(outputs_[rank].bytes());
    outputs_[rank].copy_to(bytes.data(), bytes.size());
    return bytes;
  }

 private:
  std::vector<device::DeviceMemory> inputs_{};
  std::vector<device::DeviceMemory> outputs_{};
  device::DeviceMemory calls_{};
  SmallLaunch launch_{};
};

constexpr SmallAlgorithm small_algorithms[] = {SmallAlgorithm::one_shot, SmallAlgorithm::two_shot};

const char* name(SmallAlgorithm algorithm) {
  return algorithm == SmallAlgorithm::one_shot ? "one_shot" : "two_shot";
}

int check_small(int ranks) {
  int wrong = 0;
  for (const SmallAlgorithm algorithm : small_algorithms) {
    const Lowered lowered(*find_algorithm(Collective::all_reduce, name(algorithm)), ranks, 0);
    const Group group(small_arena(lowered), patience);
    for (const std::size_t count : {1, 2, 5, 100, 3}) {
      const rondo::Call made{
          .count = count, .collective = Collective::all_reduce, .type = DataType::float32};
      const auto [inputs, expected] = rondo::test::expected_of({.call = made}, lowered.schedule);
      const SmallCalls calls(group, algorithm, count, inputs);
      calls.launch(nullptr);
      bool same = group.failures().empty();
      for (std::size_t rank = 0; rank < inputs.size(); ++rank)
        same = calls.output(rank) == expected[rank] && same;
      if (same) continue;
      ++wrong;
      Line("wrong")
          .text("small", name(algorithm))
          .number("ranks", ranks)
          .text("failures", group.failures());
    }
  }
  return wrong;
}

int check_all() {
  int wrong = 0;
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      if (row.collective == Collective::send_recv && ranks == 1) continue;
      wrong += check_row(row, ranks, ranks == 3);
    }
  }
  for (const int ranks : {1, 2, 3, 4, 8}) wrong += check_small(ranks);
  return wrong;
}

}  // namespace
}  // namespace rondo::gpu_test

/// With "--brief" it checks one algorithm, for tools that slow everything down.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const bool brief = count > 1 && std::string(arguments[1]) == "--brief";
  return program(runtime_obstacle(), [&] {
    if (!brief) return check_all();
    return check_row(*rondo::find_algorithm(rondo::Collective::all_reduce, "ring"), 3, false) +
           check_small(3);
  });
}
