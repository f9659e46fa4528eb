// The co-resident kernel on one device, where ranks are blocks of one launch: every algorithm
// against the reference, then latency and bandwidth.
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"
#include "tests/gpu/group.h"
#include "tests/gpu/obstacle.h"
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

void report(const char* what, const char* algorithm, int ranks, std::size_t bytes, double seconds) {
  Line(what)
      .text("algorithm", algorithm)
      .number("ranks", ranks)
      .number("bytes", static_cast<double>(bytes))
      .number("microseconds", seconds * 1e6)
      .number("algorithm_gigabytes_per_second", static_cast<double>(bytes) / seconds * 1e-9);
}

/// An all-reduce of float32 by the interpreter, as a graph replays it.
void measure_interpreter(const char* algorithm, int ranks, std::size_t bytes, Protocol protocol) {
  const Lowered lowered(*find_algorithm(Collective::all_reduce, algorithm), ranks, 0);
  ArenaShape shape{.ranks = static_cast<std::uint32_t>(ranks),
                   .depth = static_cast<std::uint32_t>(lowered.traits.depth),
                   .frame_bytes = 128 * 1024,
                   .packets = 2048,
                   .mailbox = 64};
  shape.stripes = shape.packet_stripes = resident_blocks(resident_threads) / shape.ranks;
  const Group group(shape, patience);
  std::vector<Call::Rank> made;
  for (int rank = 0; rank < ranks; ++rank) {
    made.push_back({.part = lowered.prepare(rank, bytes / sizeof(float), DataType::float32,
                                            ReduceOperator::sum, protocol, shape),
                    .input = Bytes(bytes),
                    .output_bytes = bytes});
  }
  const Call call(group, made);
  const double time =
      seconds_in_graph(bytes > (1 << 20) ? 5 : 50, [&](void* stream) { call.launch(stream); });
  if (!group.failures().empty()) throw Error(ErrorCode::internal, group.failures());
  report(protocol == Protocol::bulk ? "interpreter_bulk" : "interpreter_low_latency", algorithm,
         ranks, bytes, time);
}

void measure_small(SmallAlgorithm algorithm, int ranks, std::size_t bytes) {
  const Group group({.ranks = static_cast<std::uint32_t>(ranks),
                     .frame_bytes = 16,
                     .packets = 1,
                     .mailbox = 4096},
                    patience);
  const std::vector<Bytes> inputs(static_cast<std::size_t>(ranks), Bytes(bytes));
  const SmallCalls calls(group, algorithm, bytes / sizeof(float), inputs);
  const double time = seconds_in_graph(50, [&](void* stream) { calls.launch(stream); });
  if (!group.failures().empty()) throw Error(ErrorCode::internal, group.failures());
  report("small", name(algorithm), ranks, bytes, time);
}

/// Bytes read and written a second by a copy of `bytes`: the roof of everything here.
void measure_roof(std::size_t bytes, int ranks) {
  const device::DeviceMemory from(bytes), to(bytes);
  const double time = seconds_in_graph(5, [&](void* stream) {
    device::demand(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice,
                                   static_cast<cudaStream_t>(stream)),
                   "copying on the device");
  });
  const double bandwidth = 2 * static_cast<double>(bytes) / time;
  Line("roof")
      .number("ranks", ranks)
      .number("copy_gigabytes_per_second", bandwidth * 1e-9)
      .number("all_reduce_bytes", 64 << 20)
      .number("least_microseconds", 2.0 * ranks * (64 << 20) / bandwidth * 1e6);
}

void measure_all() {
  for (const int ranks : {2, 4, 8}) {
    for (const SmallAlgorithm algorithm : small_algorithms) {
      for (const std::size_t bytes : {8, 1024, 16384}) measure_small(algorithm, ranks, bytes);
    }
    for (const char* algorithm : {"one_shot", "two_shot", "recursive_doubling", "ring"}) {
      for (const std::size_t bytes : {8, 1024, 16384})
        measure_interpreter(algorithm, ranks, bytes, Protocol::low_latency);
    }
  }
  measure_roof(std::size_t{1} << 28, 8);
  for (const char* algorithm : {"two_shot", "ring", "bidirectional_ring", "circulant"}) {
    for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{64} << 20})
      measure_interpreter(algorithm, 8, bytes, Protocol::bulk);
  }
}

}  // namespace
}  // namespace rondo::gpu_test

/// "--check": only checks results. "--measure": does not check. "--brief": checks one algorithm, for
/// tools that slow everything down.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const std::string option = count > 1 ? arguments[1] : "";
  return program(runtime_obstacle(), [&] {
    if (option == "--brief") {
      return check_row(*rondo::find_algorithm(rondo::Collective::all_reduce, "ring"), 3, false) +
             check_small(3);
    }
    const int wrong = option == "--measure" ? 0 : check_all();
    if (option != "--check" && wrong == 0) measure_all();
    return wrong;
  });
}
