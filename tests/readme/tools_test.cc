// Tables in the pages of `rondo` are the program's. When one changes, this test prints the new text.
#include <sstream>
#include <string>
#include <string_view>

#include "algorithms/table.h"
#include "core/schedule/simulate.h"
#include "tests/catch.h"
#include "tests/readme/page.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/page/lessons.h"

namespace {

using std::string;
using namespace rondo::testing;

string between(const string& line, std::string_view before, std::string_view after) {
  const auto begin = line.find(before) + before.size();
  return line.substr(begin, line.find(after, begin) - begin);
}

/// Titles and summaries, as the first page of `rondo learn` lists them: one line for each lesson.
string lessons_table() {
  string table = "| lesson | what it shows |\n|---|---|\n";
  std::istringstream lines(rondo::tool::learning_site().front().html);
  for (string line; std::getline(lines, line);) {
    if (!line.starts_with("<li>")) continue;
    table += "| " + between(line, "\">", "</a>") + " | " + between(line, "<br>", "</li>") + " |\n";
  }
  return table;
}

string constants_table() {
  std::ostringstream table;
  table << "| constant | default here, in `why` and on pages | meaning |\n|---|---|---|\n";
  const auto row = [&](const char* option, double value, const char* meaning) {
    table << "| `" << option << "` | " << value << " | " << meaning << " |\n";
  };
  const rondo::Costs costs = rondo::default_costs;
  row("--alpha", costs.alpha, "seconds a message");
  row("--beta", costs.beta, "seconds a byte");
  row("--gamma", costs.gamma, "seconds a reduced byte");
  return table.str();
}

TEST_CASE("README.md shows a ring as rondo explain does") {
  const string told = rondo::tool::render(
      rondo::tool::explain(
          rondo::find_algorithm(rondo::Collective::all_reduce, "ring")->build(4, 0)),
      {});
  const auto begin = told.find("a01 is chunk a");
  const auto end = told.find("What each rank then has");
  REQUIRE((begin != string::npos && end != string::npos));
  string shown = "    ...\n";
  std::istringstream lines(told.substr(begin, end - begin));
  for (string line; std::getline(lines, line);) shown += (line.empty() ? "" : "    ") + line + "\n";
  INFO("README.md should hold:\n" << shown);
  CHECK(page("README.md").find("ring --ranks 4\n" + shown) != string::npos);
}

TEST_CASE("the pages of rondo have the program's tables") {
  CHECK(holds("tools/rondo/page/README.md", lessons_table()));
  CHECK(holds("tools/rondo/README.md", constants_table()));
}

TEST_CASE("lessons and constants are found") {
  CHECK(lessons_table().find("| Trees: few rounds | Sums go up ") != string::npos);
  CHECK(constants_table().find("| `--alpha` | 1e-06 | ") != string::npos);
}

}  // namespace
