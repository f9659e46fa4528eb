// The stepping loop itself: lowered programs, dependencies between lanes, ends that are not clean.
#include "core/schedule/machine.h"

#include "core/schedule/reference.h"
#include "core/schedule/simulate.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;

namespace {

struct Builder {
  Program program{};

  Op& add(std::vector<Operand> operands, std::vector<Dependency> dependencies = {}) {
    Op op;
    op.first_operand = static_cast<std::uint32_t>(program.operands.size());
    op.operands = static_cast<std::uint32_t>(operands.size());
    op.first_dependency = static_cast<std::uint32_t>(program.dependencies.size());
    op.dependencies = static_cast<std::uint32_t>(dependencies.size());
    op.extent = operands.front().chunk;
    program.operands.insert(program.operands.end(), operands.begin(), operands.end());
    program.dependencies.insert(program.dependencies.end(), dependencies.begin(),
                                dependencies.end());
    program.ops.push_back(op);
    return program.ops.back();
  }
};

Operand local(Chunk chunk) { return {-1, chunk}; }
Operand from(int peer, Chunk extent) { return {peer, extent}; }

/// A ring of three, fused: the middle of each half is one op that receives, reduces and sends.
std::vector<Program> fused_ring() {
  std::vector<Program> programs;
  for (int rank = 0; rank < 3; ++rank) {
    const int next = (rank + 1) % 3;
    const int previous = (rank + 2) % 3;
    Builder builder;
    builder.add({local(input(previous))}, {{3, true}}).out_peer = next;
    builder.add({from(previous, input(next)), local(input(next))}, {{0, false}, {4, true}})
        .out_peer = next;
    Op& own = builder.add({from(previous, input(rank)), local(input(rank))}, {{1, false}});
    own.writes = true;
    own.into = output(rank);
    own.out_peer = next;
    Op& pass = builder.add({from(previous, output(previous))}, {{2, false}});
    pass.writes = true;
    pass.into = output(previous);
    pass.out_peer = next;
    Op& last = builder.add({from(previous, output(next))}, {{3, false}});
    last.writes = true;
    last.into = output(next);
    programs.push_back(builder.program);
  }
  return programs;
}

}  // namespace

TEST_CASE("lowered programs are verified, simulated and carried out by the same loop") {
  Schedule header = handmade::ring(3);
  std::vector<Program> programs = fused_ring();
  // A fused op takes its message and passes the sum on at once, so one message more is in flight.
  CHECK_FALSE(verify(header, programs).ok());
  header.depth = 2;
  const Report report = verify(header, programs);
  INFO((report.findings.empty() ? "" : report.findings.front()));
  CHECK(report.ok());
  CHECK(report.ops == 15);
  CHECK(simulate(header, programs, 3, {.alpha = 1}).busiest().seconds == 4);

  SECTION("a swapped chunk in one of them is found") {
    programs[1].operands[2].chunk.first = 0;
    CHECK_FALSE(verify(header, programs).ok());
  }
  SECTION("every dependency is needed") {
    for (std::size_t i = 0; i < programs[1].dependencies.size(); ++i) {
      std::vector<Program> mutant = programs;
      mutant[1].dependencies[i] = {0, true};
      INFO("dependency " << i);
      const Report wrong = verify(header, mutant);
      REQUIRE_FALSE(wrong.ok());
      CHECK(wrong.findings[0].find("rank 1: op") == 0);
      CHECK(wrong.findings[0].find("does not depend on op") != std::string::npos);
    }
  }
  SECTION("references beyond the program are found") {
    programs[0].dependencies[0].on = 99;
    CHECK_FALSE(verify(header, programs).ok());
  }
  SECTION("a program too few is found") {
    programs.pop_back();
    CHECK_FALSE(verify(header, programs).ok());
  }
  SECTION("a missing op is found") {
    programs[2].ops.pop_back();
    CHECK_FALSE(verify(header, programs).ok());
  }
}

TEST_CASE("an op waits for the ops of other lanes that it depends on") {
  Schedule header = handmade::listed(Collective::all_reduce, 1, {{}});
  header.lanes = 2;
  Builder builder;
  // Lane 0's op comes first in the loop but depends on lane 1's.
  Op& second = builder.add({local(scratch(0, 0))}, {{1, false}});
  second.writes = true;
  second.into = output(0);
  Op& first = builder.add({local(input(0))}, {{0, true}});
  first.lane = 1;
  first.writes = true;
  first.into = scratch(0, 0);
  std::vector<Program> programs{builder.program};
  programs[0].lanes = 2;
  CHECK(verify(header, programs).ok());

  programs[0].dependencies[0].on = 0;  // itself
  const Report report = verify(header, programs);
  REQUIRE_FALSE(report.ok());
  CHECK(report.findings[0].find("waits for an op of another lane") != std::string::npos);
}

TEST_CASE("an op takes at most one message of a channel") {
  const Schedule header = handmade::listed(Collective::reduce, 1, {{}, {}}, 2);
  Builder root;
  Op& both = root.add({from(1, input(0)), from(1, input(0))});
  both.writes = true;
  both.into = output(0);
  Builder other;
  other.add({local(input(0))}).out_peer = 0;
  const std::vector<Program> programs{root.program, other.program};
  const Report report = verify(header, programs);
  REQUIRE_FALSE(report.ok());
  CHECK(report.findings[0].find("takes two messages of one channel") != std::string::npos);
}

TEST_CASE("an error that a schedule throws becomes a finding") {
  Schedule schedule = handmade::ring(2);
  schedule.steps = [](int, int) -> Steps { throw Error(ErrorCode::internal, "no such ring"); };
  CHECK(verify(schedule).findings == std::vector<std::string>{"no such ring"});
}

TEST_CASE("a thousand ranks in a ring, and as many messages in flight as the depth allows") {
  const Report report = verify(handmade::ring(256));
  CHECK(report.ok());
  CHECK_FALSE(report.exact);
  CHECK(report.messages == 2ULL * 256 * 255);
}
