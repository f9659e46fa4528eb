// The tables in the pages are the code's tables. When one changes, this test prints the new text.
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "algorithms/table.h"
#include "core/base/config_nccl.h"
#include "core/nccl/symbols.h"
#include "core/schedule/explain.h"
#include "tests/catch.h"
#include "transports/table.h"

namespace {

using std::string;

string quoted(std::string_view name) { return name.empty() ? "" : "`" + string(name) + "`"; }

string settings_table() {
  string table =
      "| setting | NCCL's name | value | default | what it does |\n|---|---|---|---|---|\n";
  for (const auto rows : {rondo::settings(), rondo::nccl_settings()}) {
    for (const auto& row : rows) {
      table += "| " + quoted(row.name) + " | " + quoted(row.alias) + " | " + string(row.form) +
               " | " + string(row.fallback) + " | " + string(row.summary) + " |\n";
    }
  }
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

string transports_table() {
  string table = "| transport | what it is |\n|---|---|\n";
  for (const auto& row : rondo::transport_kinds()) {
    table += "| " + quoted(row.name) + " | " + string(row.summary) + " |\n";
  }
  return table;
}

string nccl_table() {
  string table = "| functions | here | remark |\n|---|---|---|\n";
  for (const auto& row : rondo::nccl::symbol_rows()) {
    string names = "`" + string(row.names) + "`";
    for (auto at = names.find(' '); at != string::npos; at = names.find(' ', at + 4))
      names.replace(at, 1, "`, `");
    table += "| " + names + " | " + string(rondo::nccl::name(row.support)) + " | " +
             string(row.remark) + " |\n";
  }
  return table;
}

string page(const string& path) {
  std::ifstream file(RONDO_PAGES "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A page, as a path in the repository, and the table that it must hold.
struct Page {
  string path;
  string table;
};

TEST_CASE("the pages' tables are the code's") {
  for (const auto& [path, table] : {Page{"core/base/README.md", settings_table()},
                                    Page{"algorithms/README.md", algorithms_table()},
                                    Page{"transports/README.md", transports_table()},
                                    Page{"core/nccl/README.md", nccl_table()}}) {
    const bool holds = page(path).find("\n\n" + table + "\n") != string::npos;
    if (!holds) std::cerr << path << " should hold:\n\n" << table << "\n";
    INFO(path);
    CHECK(holds);
  }
}

TEST_CASE("README.md shows a ring as rondo explain does") {
  using namespace rondo;
  const string told =
      render(explain(find_algorithm(Collective::all_reduce, "ring")->build(4, 0)), {});
  const auto begin = told.find("a01 is chunk a");
  const auto end = told.find("What each rank then has");
  REQUIRE((begin != string::npos && end != string::npos));
  string shown = "    ...\n";
  std::istringstream lines(told.substr(begin, end - begin));
  for (string line; std::getline(lines, line);) shown += (line.empty() ? "" : "    ") + line + "\n";
  INFO("README.md should hold:\n" << shown);
  CHECK(page("README.md").find("ring --ranks 4\n" + shown) != string::npos);
}

TEST_CASE("every setting, collective and transport has a row") {
  CHECK(settings_table().find("| `RONDO_TIMEOUT` |  | seconds | 300 |") != string::npos);
  CHECK(algorithms_table().find("| `all_reduce` | `ring`, ") != string::npos);
  CHECK(transports_table().find("| `local` | ") != string::npos);
}

}  // namespace
