// The tables in the pages are the code's tables. When one changes, this test prints the new text.
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "algorithms/table.h"
#include "core/settings/settings.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/readme/page.h"
#include "transports/table.h"

namespace {

using std::string;
using namespace rondo::testing;

string settings_table() {
  string table =
      "| setting | NCCL's name | value | default | what it does |\n|---|---|---|---|---|\n";
  for (const auto& row : rondo::settings())
    table += "| " + quoted(row.name) + " | " + quoted(row.alias) + " | " + string(row.form) +
             " | " + string(row.fallback) + " | " + string(row.summary) + " |\n";
  return table;
}

string algorithms_table() {
  string table = "| collective | algorithms |\n|---|---|\n";
  for (const auto& collective : rondo::collectives) {
    string names;
    for (const auto& row : rondo::algorithms()) {
      if (row.collective == collective.collective) {
        names += (names.empty() ? "" : ", ") + quoted(row.name);
      }
    }
    table += "| " + quoted(collective.name) + " | " + names + " |\n";
  }
  return table;
}

/// Equal for algorithms that share a row of the table of costs.
auto cost_key(const rondo::Algorithm& row) {
  return std::tuple(row.collective, row.cost.rounds, row.cost.hops, row.cost.sent,
                    row.cost.reduced);
}

/// The algorithms with this cost, a * after those that add in rank order. Empty unless `first` is
/// the first of them.
string names_of_cost(const rondo::Algorithm& first) {
  string names;
  for (const auto& row : rondo::algorithms()) {
    if (cost_key(row) != cost_key(first)) continue;
    if (names.empty() && &row != &first) return "";
    names += (names.empty() ? "" : ", ") + quoted(row.name) + (row.rank_order ? "*" : "");
  }
  return names;
}

string costs_table() {
  string table =
      "| collective | algorithm | rounds | hops | sent | reduced |\n|---|---|---|---|---|---|\n";
  for (const auto& row : rondo::algorithms()) {
    const string names = names_of_cost(row);
    if (names.empty()) continue;
    table += "| " + quoted(name(row.collective)) + " | " + names;
    for (const auto formula : {row.cost.rounds, row.cost.hops, row.cost.sent, row.cost.reduced})
      table += " | " + string(formula);
    table += " |\n";
  }
  return table;
}

string transports_table() {
  string table = "| transport | what it is |\n|---|---|\n";
  for (const auto& row : rondo::transport_kinds()) {
    table += "| " + quoted(row.name) + " | " + string(row.summary) + " |\n";
  }
  return table;
}

/// Every kind of rondo::Error, in the order of the code.
std::vector<string> error_kinds() {
  std::vector<string> kinds;
  for (int code = 0; name(rondo::ErrorCode{code}) != "unknown"; ++code)
    kinds.emplace_back(quoted(name(rondo::ErrorCode{code})));
  return kinds;
}

/// The first column of the table below this heading.
std::vector<string> first_column(const string& text, const string& heading) {
  std::vector<string> column;
  std::istringstream lines(text.substr(text.find(heading)));
  string line;
  for (int skipped = 0; skipped < 2; ++skipped) std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("| "))
    column.push_back(line.substr(2, line.find(" |") - 2));
  return column;
}

/// A page, as a path in the repository, and the table that it must hold.
struct Page {
  string path;
  string table;
};

TEST_CASE("the pages' tables are the code's") {
  for (const auto& [path, table] : {Page{"core/settings/README.md", settings_table()},
                                    Page{"algorithms/README.md", algorithms_table()},
                                    Page{"algorithms/README.md", costs_table()},
                                    Page{"transports/README.md", transports_table()}}) {
    INFO(path);
    CHECK(holds(path, table));
  }
}

TEST_CASE("core/README.md explains every kind of error") {
  const string heading = "| kind | meaning | what to do |\n";
  const string text = page("core/README.md");
  REQUIRE(text.find(heading) != string::npos);
  CHECK(first_column(text, heading) == error_kinds());
}

TEST_CASE("every setting, collective, cost, transport and kind of error is found") {
  CHECK(settings_table().find("| `RONDO_TIMEOUT` |  | seconds | 300 |") != string::npos);
  CHECK(algorithms_table().find("| `all_reduce` | `ring`, ") != string::npos);
  CHECK(costs_table().find("| `all_reduce` | `one_shot`* | P-1 | 1 | P-1 | P-1 |\n") !=
        string::npos);
  CHECK(costs_table().find("| `broadcast` | `ring`, `chain` | ") != string::npos);
  CHECK(transports_table().find("| `local` | ") != string::npos);
  CHECK(error_kinds().size() > 10);
}

}  // namespace
