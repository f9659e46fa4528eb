// The program prints what tools/rondo/README.md shows.
#include <fstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/program.h"

namespace {

std::vector<std::string> page_lines() {
  std::ifstream file(RONDO_PAGE);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(!lines.empty());
  return lines;
}

/// A command, and the parts of its output that the page shows.
struct Shown {
  std::string command{};
  std::vector<std::string> parts{1};
};

std::vector<Shown> shown_commands() {
  std::vector<Shown> all;
  bool inside = false;
  for (const std::string& line : page_lines()) {
    const bool code = line.starts_with("    ");
    if (line.starts_with("    $ rondo ")) {
      all.push_back({line.substr(12)});
      inside = true;
    } else if (inside && line == "    ...") {
      all.back().parts.emplace_back();
    } else if (inside && (code || line.empty())) {
      all.back().parts.back() += (code ? line.substr(4) : "") + "\n";
    } else {
      inside = false;
    }
  }
  return all;
}

/// The part without the empty line that ends a block of the page.
std::string trimmed(std::string part) {
  part.erase(part.find_last_not_of('\n') + 1);
  return part;
}

}  // namespace

TEST_CASE("the commands of tools/rondo/README.md print what it shows") {
  const std::vector<Shown> commands = shown_commands();
  REQUIRE(commands.size() >= 3);
  for (const Shown& shown : commands) {
    const std::string output =
        rondo::test::run_command("'" RONDO_PROGRAM "' " + shown.command).output;
    std::size_t at = 0;
    for (const std::string& each : shown.parts) {
      const std::string part = trimmed(each);
      INFO(shown.command << "\nprints\n" << output << "\nwithout\n" << part);
      const std::size_t found = output.find(part, at);
      CHECK(found != std::string::npos);
      if (found != std::string::npos) at = found + part.size();
    }
  }
}
