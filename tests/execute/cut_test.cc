// How messages are cut over wires: what a schedule's passes wait for, and frames that channels
// hold.
#include "core/plan/cut.h"

#include "algorithms/table.h"
#include "core/plan/decide.h"
#include "tests/catch.h"

namespace rondo {
namespace {

constexpr std::size_t slot = std::size_t{512} << 10;
constexpr int deep = 16;

Flow flow(Collective collective, std::string_view name, int ranks) {
  return flow_of(find_algorithm(collective, name)->build(ranks, 0));
}

TEST_CASE("what the passes of a schedule wait for") {
  CHECK(flow(Collective::all_reduce, "ring", 4) == Flow::ring);
  CHECK(flow(Collective::all_reduce, "bidirectional_ring", 4) == Flow::ring);
  CHECK(flow(Collective::all_reduce, "two_shot", 2) == Flow::ring);
  CHECK(flow(Collective::all_reduce, "circulant", 4) == Flow::rounds);
  CHECK(flow(Collective::all_reduce, "double_tree", 8) == Flow::stream);
  CHECK(flow(Collective::broadcast, "chain", 5) == Flow::stream);
  CHECK(flow(Collective::all_to_all, "pairwise", 5) == Flow::exchange);
  CHECK(flow(Collective::all_reduce, "one_shot", 3) == Flow::exchange);
}

TEST_CASE("frames and interleaved passes fit into the channels") {
  const Cut rounds = cut_for_wires(Flow::rounds, slot, deep);
  CHECK(rounds.frame_bytes == shortest_frame_bytes);
  CHECK(rounds.interleaved == 8);
  const Cut ring = cut_for_wires(Flow::ring, slot, deep);
  CHECK(ring.frame_bytes == 4 * shortest_frame_bytes);
  CHECK(ring.interleaved == 2);
  const Cut stream = cut_for_wires(Flow::stream, slot, 2);
  CHECK(stream.frame_bytes == shortest_frame_bytes);
  CHECK(stream.interleaved == 1);
  for (const Flow flow : {Flow::exchange, Flow::stream, Flow::ring, Flow::rounds}) {
    for (int held = 2; held <= 64; ++held) {
      const Cut cut = cut_for_wires(flow, slot, held);
      INFO("held " << held << ": " << cut.interleaved << " of " << cut.frame_bytes);
      CHECK(cut.frame_bytes <= slot);
      if (cut.interleaved == 1) continue;
      CHECK(cut.interleaved * 2 * cut.frame_bytes <=
            static_cast<std::size_t>(held) * shortest_frame_bytes);
    }
    const std::size_t small = 4096;
    CHECK(cut_for_wires(flow, small, 2).frame_bytes == small);
  }
}

PreparedCall decided(std::string_view algorithm, std::size_t count, bool one_machine) {
  const Topology around{
      .ranks = 4, .links = LinkClass::network, .one_machine = one_machine, .short_frames = deep};
  const Call call{.count = count, .collective = Collective::all_reduce, .type = DataType::float32};
  const AlgorithmSelection selection(algorithm, "the test");
  const Choice choice = choose(call.collective, count * sizeof(float), around, selection);
  return *decide(choice, make_plan(choice.algorithm, 0, 0, around), call, 0, around, slot);
}

TEST_CASE("passes are interleaved between machines, where calls are long enough") {
  CHECK(decided("circulant", 1 << 20, false).slicing.interleaved == 8);
  CHECK(decided("circulant", 1 << 20, true).slicing.interleaved == 1);
  CHECK(decided("double_tree", 1 << 20, false).slicing.interleaved == 1);
  const PreparedCall short_call = decided("ring", 1 << 10, false);
  CHECK(short_call.slicing.interleaved == 1);
  CHECK(short_call.slicing.passes == 1);
  const PreparedCall ring = decided("ring", 1 << 18, false);
  CHECK(ring.slicing.interleaved == 2);
  CHECK(ring.slicing.passes == 2);
  CHECK(ring.slicing.slice * ring.slicing.passes >= std::size_t{1} << 16);
  for (const std::size_t count : {100003U, 654321U, 1048577U}) {
    const PreparedCall call = decided("circulant", count, false);
    CHECK(call.slicing.rounded_passes() % call.slicing.interleaved == 0);
    CHECK(call.slicing.rounded_passes() >= call.slicing.passes);
    CHECK(call.instances() == call.slicing.rounded_passes() * call.plan->program.ops.size());
  }
}

}  // namespace
}  // namespace rondo
