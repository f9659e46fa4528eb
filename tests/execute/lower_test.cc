// Lowering: every algorithm's programs still do what its schedule says, and fusion does what it is
// for.
#include "core/plan/lower.h"

#include <algorithm>
#include <sstream>

#include "algorithms/table.h"
#include "core/schedule/verify.h"
#include "tests/catch.h"

namespace rondo {
namespace {

std::vector<Program> lower_all(const Schedule& schedule, Fusion fusion = Fusion::full) {
  std::vector<Program> programs;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    programs.push_back(lower(schedule, rank, fusion));
  return programs;
}

Report verify_lowered(Schedule schedule, const std::vector<Program>& programs) {
  for (const Program& program : programs) schedule.depth = std::max(schedule.depth, program.depth);
  return verify(schedule, programs);
}

std::string place(const Chunk& chunk) {
  const char* buffers[] = {"input", "output", "scratch"};
  return buffers[static_cast<int>(chunk.buffer)] + std::string("[") + std::to_string(chunk.first) +
         "]";
}

/// One line an op: "3 + input[2] -> output[2] -> 1", channels by peer number.
std::string text(const Program& program) {
  std::ostringstream out;
  for (const Op& op : program.ops) {
    const char* separator = "";
    for (const Operand& operand : program.operands_of(op)) {
      out << separator
          << (operand.is_channel() ? std::to_string(operand.peer) : place(operand.chunk));
      separator = " + ";
    }
    if (op.writes) out << " -> " << place(op.into);
    if (op.out_peer >= 0) out << " -> " << op.out_peer;
    out << '\n';
  }
  return out.str();
}

TEST_CASE("every algorithm's lowered programs verify, at every root") {
  for (const Algorithm& row : algorithms()) {
    for (int ranks = 1; ranks <= 13; ++ranks) {
      const int roots = info(row.collective).has_root ? ranks : 1;
      for (int root = 0; root < roots; ++root) {
        const Schedule schedule = row.build(ranks, root);
        for (const Fusion fusion : {Fusion::full, Fusion::sends_from_place, Fusion::none}) {
          const Report report = verify_lowered(schedule, lower_all(schedule, fusion));
          INFO(name(row.collective)
               << " " << row.name << " ranks " << ranks << " root " << root
               << (fusion == Fusion::sends_from_place ? " sending from place" : ""));
          INFO((report.ok() ? std::string() : report.findings.front()));
          REQUIRE(report.ok());
          REQUIRE((report.rank_order || !row.rank_order));  // each sum is one op still
        }
      }
    }
  }
}

TEST_CASE("an op's extent wraps where any of its runs does, which executors rely on") {
  std::size_t wrapping = 0;
  for (const Algorithm& row : algorithms()) {
    for (int ranks = 2; ranks <= 13; ++ranks) {
      const Schedule schedule = row.build(ranks, 0);
      const auto wraps = [&](const Chunk& run) {
        return run.first + run.count > static_cast<std::uint32_t>(schedule.layout.chunks());
      };
      for (const Program& program : lower_all(schedule)) {
        for (const Op& op : program.ops) {
          bool any = op.writes && wraps(op.into);
          for (const Operand& operand : program.operands_of(op))
            any |= !operand.is_channel() && wraps(operand.chunk);
          INFO(name(row.collective) << " " << row.name << " ranks " << ranks);
          REQUIRE((wraps(op.extent) || !any));
          wrapping += any ? 1 : 0;
        }
      }
    }
  }
  CHECK(wrapping > 0);
}

TEST_CASE("sends from memory that a later op writes are marked") {
  std::size_t marked = 0;
  std::size_t others = 0;
  for (const Algorithm& row : algorithms()) {
    for (const Program& program : lower_all(row.build(4, 0), Fusion::sends_from_place)) {
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        const auto operands = program.operands_of(op);
        if (op.out_peer < 0 || op.writes || operands.size() != 1 || operands[0].is_channel())
          continue;
        const Chunk& sent = operands[0].chunk;
        bool written = sent.buffer == Buffer::scratch;
        for (std::size_t later = i + 1; later < program.ops.size(); ++later) {
          const Op& other = program.ops[later];
          // This test looks at single chunks only, not at runs that wrap.
          if (!other.writes || other.into.buffer == Buffer::scratch) continue;
          if (other.into.count == 1 && sent.count == 1 && other.into.first == sent.first)
            written = true;
        }
        INFO(name(row.collective) << " " << row.name << " op " << i);
        if (sent.count == 1 && written) CHECK(op.rewritten);
        ++(op.rewritten ? marked : others);
      }
    }
  }
  CHECK(marked > 0);
  CHECK(others > marked);  // most could go from place
}

TEST_CASE("a ring becomes receive-reduce-sends that touch no scratch") {
  const Algorithm* ring = find_algorithm(Collective::all_reduce, "ring");
  REQUIRE(ring != nullptr);
  CHECK(text(lower(ring->build(4, 0), 0)) ==
        "input[3] -> 1\n"
        "3 + input[2] -> 1\n"
        "3 + input[1] -> 1\n"
        "3 + input[0] -> output[0] -> 1\n"
        "3 -> output[3] -> 1\n"
        "3 -> output[2] -> 1\n"
        "3 -> output[1]\n");
}

TEST_CASE("results that are kept are sent from their place where channels can do that") {
  const Algorithm* ring = find_algorithm(Collective::all_reduce, "ring");
  CHECK(text(lower(ring->build(4, 0), 0, Fusion::sends_from_place)) ==
        "input[3] -> 1\n"
        "3 + input[2] -> 1\n"
        "3 + input[1] -> 1\n"
        "3 + input[0] -> output[0]\n"
        "output[0] -> 1\n"
        "3 -> output[3]\n"
        "output[3] -> 1\n"
        "3 -> output[2]\n"
        "output[2] -> 1\n"
        "3 -> output[1]\n");
}

TEST_CASE("writes of results that nothing reads again are marked as last") {
  const auto last = [](std::string_view algorithm, Fusion fusion) {
    const Schedule schedule = find_algorithm(Collective::all_reduce, algorithm)->build(4, 0);
    std::string chunks;
    for (const Op& op : lower(schedule, 0, fusion).ops)
      if (op.last) chunks += std::to_string(op.into.first);
    return chunks;
  };
  // Sent on as they are made, chunks go to the slot first and then, past the caches, to the output.
  CHECK(last("ring", Fusion::full) == "0321");
  CHECK(last("ring", Fusion::sends_from_place) == "1");
  // Two_shot's own chunk goes to three peers: one as it is made, two from the output.
  CHECK(last("two_shot", Fusion::full) == "321");
}

TEST_CASE("a one-shot reduction reads all its channels in one op, in rank order") {
  const Algorithm* one_shot = find_algorithm(Collective::all_reduce, "one_shot");
  REQUIRE(one_shot != nullptr);
  const Program program = lower(one_shot->build(4, 0), 2);
  CHECK(program.scratch_slots == 0);
  CHECK(text(program).find("0 + 1 + input[0] + 3 -> output[0]") != std::string::npos);
}

TEST_CASE("the verifier rejects programs whose fusion went wrong") {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "ring")->build(4, 0);
  const std::vector<Program> right = lower_all(schedule);
  REQUIRE(verify_lowered(schedule, right).ok());

  SECTION("a message that is not passed on") {
    std::vector<Program> wrong = right;
    wrong[1].ops[1].out_peer = -1;
    wrong[1].ops[1].writes = true;
    wrong[1].ops[1].into = output(1);
    CHECK_FALSE(verify_lowered(schedule, wrong).ok());
  }
  SECTION("a local operand left out") {
    std::vector<Program> wrong = right;
    wrong[2].ops[2].operands = 1;
    CHECK_FALSE(verify_lowered(schedule, wrong).ok());
  }
  SECTION("one message of depth is too little for fused ops") {
    Schedule shallow = schedule;
    shallow.depth = 1;
    CHECK_FALSE(verify(shallow, right).ok());
  }
}

TEST_CASE("ops that share a channel stay in order, across passes too") {
  for (const Algorithm& row : algorithms()) {
    const Program program = lower(row.build(5, 0), 0);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (op.out_peer < 0) continue;
      const auto dependencies = program.dependencies_of(op);
      const bool ordered =
          std::any_of(dependencies.begin(), dependencies.end(), [&](const Dependency& d) {
            const Op& on = program.ops[d.on];
            return on.out_peer == op.out_peer && on.lane == op.lane &&
                   (d.on < i || d.previous_pass);
          });
      INFO(name(row.collective) << " " << row.name << " op " << i);
      CHECK(ordered);
    }
  }
}

}  // namespace
}  // namespace rondo
