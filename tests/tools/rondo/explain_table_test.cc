// Explanations of every algorithm in the table: readable at 80 columns, and true.
#include <algorithm>
#include <sstream>

#include "algorithms/table.h"
#include "core/schedule/collective.h"
#include "tests/catch.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/explain/holdings.h"
#include "tools/rondo/explain_options.h"

using namespace rondo;
using namespace rondo::tool;

namespace {

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

/// Every row of the table with every number of ranks and some roots.
template <class Visit>
void each_schedule(int most_ranks, Visit visit) {
  for (const Algorithm& row : algorithms()) {
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
      for (const int root : {0, ranks - 1}) {
        visit(row.build(ranks, root));
        if (!info(row.collective).has_root) break;
      }
    }
  }
}

ExplainOptions with_values(const Schedule& schedule, long long count) {
  tool::ExplainArguments arguments;
  arguments.has_count = arguments.has_values = true;
  arguments.count = count;
  return tool::options_of(arguments, schedule);
}

/// Element by element, the sum of the contributors' inputs.
std::vector<double> promised(const Explanation& explanation, const Piece& piece) {
  const Schedule& header = explanation.header;
  const Partition partition = partition_of(explanation);
  std::vector<double> sum(partition.size(piece.chunk));
  for (const int rank : piece.contributors) {
    const ChunkSpan span = held(header.collective, Buffer::input, header.layout, rank, header.root);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] +=
          explanation.inputs[static_cast<std::size_t>(rank)]
                            [partition.offset(piece.chunk) - partition.offset(span.first) + i];
  }
  return sum;
}

}  // namespace

TEST_CASE("every algorithm's explanation fits 80 columns, with rounds up to 8 ranks") {
  int seen = 0;
  each_schedule(9, [&](const Schedule& schedule) {
    ++seen;
    const CostFormulas cost = tool::formulas_of(schedule);
    const auto check = [&](const ExplainOptions& options) {
      const std::string text = render(explain(schedule, options), cost);
      if (widest(text) > 80) FAIL_CHECK(text);
      const bool has_rounds = text.find("What each rank sends") != std::string::npos;
      if (schedule.ranks > 1 && has_rounds != (schedule.ranks <= 8)) FAIL_CHECK(text);
    };
    check({});
    if (is_token(schedule.collective)) return;
    check(with_values(schedule, 3));
    check({.sizes = ExplainedSizes{.count = 123456789, .type = DataType::float64}});
  });
  CHECK(seen > 9 * 30);
}

TEST_CASE("every algorithm's numbers are the sums of its contributions") {
  each_schedule(8, [](const Schedule& schedule) {
    if (is_token(schedule.collective)) return;
    const Explanation explanation = explain(schedule, with_values(schedule, 5));
    REQUIRE(explanation.findings.empty());
    for (std::size_t round = 0; round <= explanation.rounds.size(); ++round)
      for (const auto& rank : holdings(explanation, round))
        for (const Holding& each : rank)
          if (each.piece.chunk >= 0 && each.piece.numbers != promised(explanation, each.piece))
            FAIL_CHECK(schedule.algorithm << " round " << round);
  });
}

TEST_CASE("every algorithm ends with its output in the place where holdings look for it") {
  each_schedule(8, [](const Schedule& schedule) {
    const Explanation explanation = explain(schedule);
    const auto end = holdings(explanation, explanation.rounds.size());
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const ChunkSpan span =
          held(schedule.collective, Buffer::output, schedule.layout, rank, schedule.root);
      for (int i = 0; i < span.count; ++i) {
        const Holding& holding = end[at][static_cast<std::size_t>(span.first + i)];
        if (holding.piece != explanation.outputs[at][static_cast<std::size_t>(i)])
          FAIL_CHECK(name(schedule.collective)
                     << " by " << schedule.algorithm << ", " << schedule.ranks << " ranks");
      }
    }
  });
}

TEST_CASE("counted bytes are the simulator's: totals of the busiest rank agree") {
  each_schedule(8, [](const Schedule& schedule) {
    if (is_token(schedule.collective)) return;
    const Explanation explanation = explain(schedule, {.sizes = ExplainedSizes{.count = 37}});
    std::uint64_t most = 0;
    for (const RankTotal& total : explanation.totals) most = std::max(most, total.bytes);
    CHECK(static_cast<double>(most) == explanation.bytes.sent);
  });
}

TEST_CASE("the textbook's ring: what rank 0 sends away first it gets back last") {
  const Explanation explanation =
      explain(find_algorithm(Collective::all_reduce, "ring")->build(4, 0));
  const auto complete = [&](std::size_t rounds, std::size_t rank) {
    std::string chunks;
    const auto held_now = holdings(explanation, rounds)[rank];
    for (std::size_t chunk = 0; chunk < held_now.size(); ++chunk)
      if (held_now[chunk].piece.count == 4) chunks += static_cast<char>('a' + chunk);
    return chunks;
  };
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(complete(2, rank).empty());
    CHECK(complete(3, rank) == std::string(1, static_cast<char>('a' + rank)));
    CHECK(complete(6, rank) == "abcd");
  }
  CHECK(explanation.rounds[0].messages[0].pieces ==
        std::vector<Piece>{{3, 1, {0}}});  // d leaves rank 0
  CHECK(complete(4, 0) == "ad");           // and comes back complete in round 4 of 6
}
