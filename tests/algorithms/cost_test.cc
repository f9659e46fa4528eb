// Cost lines: what a row claims is what its schedule costs, and what the head of its file says.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/geometry.h"
#include "algorithms/table.h"
#include "core/schedule/formula.h"
#include "core/schedule/simulate.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"

using namespace rondo;

namespace {

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

constexpr int large = 1024;
constexpr int most_ranks = test::is_sanitized ? 20 : 64;

/// Whether rounds grow with the logarithm of the ranks, so that a large world is checked quickly.
bool is_logarithmic(const Algorithm& row) {
  return evaluate(row.cost.rounds, cost_variables(large)) <= 4 * log2_ceiling(large);
}

/// Whether all messages of all ranks leave at once.
bool is_direct(const Algorithm& row) { return evaluate(row.cost.hops, cost_variables(large)) <= 2; }

void check_cost(const Algorithm& row, int ranks, int root) {
  const CostCounts counts = count(row.build(ranks, root));
  const Variables variables = cost_variables(ranks);
  const auto claimed = [&](std::string_view formula) {
    return ranks == 1 ? 0.0 : evaluate(formula, variables);
  };
  CAPTURE(name(row.collective), row.name, ranks, root, counts.rounds, counts.hops, counts.sent,
          counts.reduced);
  if (is_direct(row))  // the simulator's ports decide how well the messages of all ranks mesh
    REQUIRE(counts.rounds >= claimed(row.cost.rounds));
  else
    REQUIRE(same(counts.rounds, claimed(row.cost.rounds)));
  REQUIRE(same(counts.hops, claimed(row.cost.hops)));
  REQUIRE(same(counts.sent, claimed(row.cost.sent)));
  REQUIRE(same(counts.reduced, claimed(row.cost.reduced)));
}

/// The comment at the top of the file that builds the row, line by line.
std::vector<std::string> head_comment(const Algorithm& row) {
  const std::string_view file = row.name.ends_with("ring") ? "ring" : row.name;
  std::ifstream source(std::string(RONDO_ALGORITHMS_FOLDER "/") + std::string(file) + ".cc");
  std::vector<std::string> lines;
  for (std::string line; std::getline(source, line) && line.starts_with("//");)
    lines.push_back(line.substr(2));
  return lines;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> all;
  for (std::string word; text >> word;) all.push_back(word);
  return all;
}

std::vector<std::string> cost_words(const Algorithm& row) {
  const CostLine& cost = row.cost;
  std::vector<std::string> all{std::string(name(row.collective))};
  for (const std::string_view formula : {cost.rounds, cost.hops, cost.sent, cost.reduced})
    all.emplace_back(formula);
  return all;
}

}  // namespace

TEST_CASE("costs are what the cost line says, for every small number of ranks") {
  for (const Algorithm& row : algorithms())
    for (int ranks = 1; ranks <= most_ranks; ++ranks) check_cost(row, ranks, ranks / 3);
}

TEST_CASE("costs are what the cost line says, for some larger worlds") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {100, 128}) check_cost(row, ranks, 0);
    if (!is_logarithmic(row)) continue;
    for (const int ranks : test::cells<int>({511, 512, 513, 1000, 1023, 1024}, {513}))
      check_cost(row, ranks, 1);
  }
}

TEST_CASE("each file opens with its cost lines") {
  for (const Algorithm& row : algorithms()) {
    int found = 0;
    for (const std::string& line : head_comment(row)) found += words(line) == cost_words(row);
    CAPTURE(name(row.collective), row.name);
    CHECK(found == 1);
  }
}
