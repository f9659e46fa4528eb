// Every row of the table, for many numbers of ranks and roots: the verifier accepts its schedule,
// and the schedule is what the row says.
#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/collective.h"
#include "core/schedule/verify.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"

using namespace rondo;

namespace {

std::vector<int> roots(Collective collective, int ranks) {
  if (!info(collective).has_root) return {0};
  std::vector<int> some;
  const int stride = ranks <= 17 ? 1 : ranks / 3;
  for (int root = 0; root < ranks; root += stride) some.push_back(root);
  if (some.back() != ranks - 1) some.push_back(ranks - 1);
  return some;
}

std::vector<int> worlds() {
  std::vector<int> ranks;
  for (int count = 1; count <= (test::is_sanitized ? 17 : 33); ++count) ranks.push_back(count);
  ranks.insert(ranks.end(), {64, 100});
  return ranks;
}

/// "send 1 input[3]", "receive_reduce 3 input[2] scratch[2]": kind, peer, chunks.
std::string text(const Chunk& chunk) {
  constexpr const char* names[] = {"input", "output", "scratch"};
  return std::string(" ") + names[static_cast<int>(chunk.buffer)] + "[" +
         std::to_string(chunk.first) + "]";
}

std::string text(const Step& step) {
  const std::string peer = " " + std::to_string(step.peer);
  switch (step.kind) {
    case StepKind::send:
      return "send" + peer + text(step.from);
    case StepKind::receive:
      return "receive" + peer + text(step.into);
    case StepKind::receive_reduce:
      return "receive_reduce" + peer + text(step.from) + text(step.into);
    case StepKind::reduce:
      return "reduce" + text(step.from) + text(step.into);
    case StepKind::copy:
      return "copy" + text(step.from) + text(step.into);
  }
  return {};
}

std::vector<Step> steps_of(const Schedule& schedule, int rank, int lane = 0) {
  std::vector<Step> all;
  Steps steps = schedule.steps(rank, lane);
  while (const Step* step = steps.next()) all.push_back(*step);
  return all;
}

}  // namespace

TEST_CASE("the verifier accepts every algorithm, for any number of ranks and any root") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : worlds()) {
      for (const int root : roots(row.collective, ranks)) {
        const Report report = verify(row.build(ranks, root));
        CAPTURE(name(row.collective), row.name, ranks, root, report.findings);
        REQUIRE(report.ok());
        REQUIRE(report.order_agrees);
        REQUIRE((report.rank_order || !row.rank_order));
      }
    }
  }
}

TEST_CASE("a schedule's header repeats its row and needs channels of one message only") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {1, 2, 7}) {
      const Schedule schedule = row.build(ranks, ranks - 1);
      CAPTURE(name(row.collective), row.name);
      CHECK(schedule.collective == row.collective);
      CHECK(schedule.algorithm == row.name);
      CHECK(schedule.ranks == ranks);
      CHECK(schedule.root == ranks - 1);
      CHECK(schedule.depth == 1);
      CHECK(find_algorithm(row.collective, row.name) == &row);
    }
  }
  CHECK(find_algorithm(Collective::barrier, "ring") == nullptr);
}

TEST_CASE("rows are grouped by collective, and every collective has one") {
  std::vector<Collective> groups;
  for (const Algorithm& row : algorithms()) {
    if (groups.empty() || groups.back() != row.collective) groups.push_back(row.collective);
  }
  std::vector<Collective> all;
  for (const CollectiveInfo& each : collectives) all.push_back(each.collective);
  std::sort(groups.begin(), groups.end());
  CHECK(groups == all);
}

TEST_CASE("phases and rounds label every step") {
  for (const Algorithm& row : algorithms()) {
    const Schedule schedule = row.build(6, 0);
    CAPTURE(name(row.collective), row.name);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      int phase = 0;
      for (const Step& step : steps_of(schedule, rank)) {
        REQUIRE(step.phase < schedule.phases.size());
        REQUIRE(step.phase >= phase);
        phase = step.phase;
      }
    }
  }
}

TEST_CASE("rank order means one reduction of all contributions") {
  for (const Algorithm& row : algorithms()) {
    if (!row.rank_order) continue;
    const Schedule schedule = row.build(5, 2);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (const Step& step : steps_of(schedule, rank)) {
        CAPTURE(name(row.collective), row.name, text(step));
        CHECK(step.kind != StepKind::receive_reduce);
        if (step.kind != StepKind::reduce) continue;
        const int all = is_scan(row.collective) ? expected(schedule, rank, 0)->ranks : 5;
        CHECK(step.operands == static_cast<unsigned>(all));
      }
    }
  }
}

/// The schedule with each step replaced by the steps that `change` makes of it.
template <class Change>
Schedule changed(const Schedule& schedule, const Change& change) {
  Schedule other = schedule;
  other.steps = [schedule, change](int rank, int lane) -> Steps {
    Steps steps = schedule.steps(rank, lane);
    while (const Step* step = steps.next()) {
      for (const Step& each : change(*step)) co_yield each;
    }
  };
  return other;
}

/// Swaps the contributions of ranks 0 and 1, on every rank.
std::vector<Step> swapped(const Step& given) {
  Step step = given;
  if (step.kind != StepKind::send && step.kind != StepKind::reduce &&
      step.into.buffer == Buffer::scratch && step.into.slot < 2)
    step.into.slot = static_cast<std::uint16_t>(1 - step.into.slot);
  return {step};
}

/// Rounds the sum of the first two before the others are added.
std::vector<Step> in_two(const Step& step) {
  if (step.kind != StepKind::reduce) return {step};
  Chunk rest = step.from;
  rest.slot = 1;
  return {reduce(step.from, 2, rest), reduce(rest, static_cast<int>(step.operands) - 1, step.into)};
}

TEST_CASE("one change to the steps breaks a row's rank order, and the verifier notices") {
  for (const Algorithm& row : algorithms()) {
    if (!row.rank_order) continue;
    // The largest sum has three contributions at least.
    for (int ranks = row.collective == Collective::exclusive_scan ? 4 : 3; ranks < 8; ++ranks) {
      const Schedule schedule = row.build(ranks, ranks - 1);
      CAPTURE(name(row.collective), row.name, ranks);
      // A scan's order is more than a wish.
      const bool may_swap = !is_scan(row.collective);
      if (!may_swap) CHECK_FALSE(verify(changed(schedule, swapped)).ok());
      for (const auto change : {may_swap ? swapped : in_two, in_two}) {
        const Report report = verify(changed(schedule, change));
        CHECK(report.findings == std::vector<std::string>{});
        CHECK_FALSE(report.rank_order);
      }
      const Report right =
          verify(changed(schedule, [](const Step& step) { return std::vector<Step>{step}; }));
      CHECK(right.rank_order);
    }
  }
}

TEST_CASE("the ring of four, as rank 1 sees it") {
  std::string lines;
  for (const Step& step : steps_of(find_algorithm(Collective::all_reduce, "ring")->build(4, 0), 1))
    lines += text(step) + "\n";
  CHECK(lines ==
        "send 2 input[0]\n"
        "receive_reduce 0 input[3] scratch[3]\n"
        "send 2 scratch[3]\n"
        "receive_reduce 0 input[2] scratch[2]\n"
        "send 2 scratch[2]\n"
        "receive_reduce 0 input[1] output[1]\n"
        "send 2 output[1]\n"
        "receive 0 output[0]\n"
        "send 2 output[0]\n"
        "receive 0 output[3]\n"
        "send 2 output[3]\n"
        "receive 0 output[2]\n");
}

TEST_CASE("the ring of four, as drawn: the chunk that each rank sends in each round") {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "ring")->build(4, 0);
  std::vector<std::string> lines(6);
  for (int rank = 0; rank < 4; ++rank) {
    for (const Step& step : steps_of(schedule, rank)) {
      if (step.kind != StepKind::send) continue;
      lines[step.phase * 3 + step.round] += std::to_string(step.from.first);
    }
  }
  CHECK(lines == std::vector<std::string>{"3012", "2301", "1230", "0123", "3012", "2301"});
}
