// The README's tables are the code's tables. When one changes, this test prints the new text.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "algorithms/table.h"
#include "core/base/config_nccl.h"
#include "core/nccl/symbols.h"
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

TEST_CASE("the README's tables are the code's") {
  std::ifstream file(RONDO_README);
  const string readme{std::istreambuf_iterator<char>(file), {}};
  for (const auto& table :
       {settings_table(), algorithms_table(), transports_table(), nccl_table()}) {
    const bool holds = readme.find("\n\n" + table + "\n") != string::npos;
    if (!holds) std::cerr << "README.md should hold:\n\n" << table << "\n";
    CHECK(holds);
  }
}

TEST_CASE("every setting, collective and transport has a row") {
  CHECK(settings_table().find("| `RONDO_TIMEOUT` |  | seconds | 300 |") != string::npos);
  CHECK(algorithms_table().find("| `all_reduce` | `ring`, ") != string::npos);
  CHECK(transports_table().find("| `local` | ") != string::npos);
}

}  // namespace
