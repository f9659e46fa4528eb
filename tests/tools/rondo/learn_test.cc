// What the README's section "Learn" shows is what the program prints.
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "algorithms/table.h"
#include "tests/catch.h"
#include "tools/rondo/step/view.h"

namespace {

/// The section's lines.
std::vector<std::string> learn_section() {
  std::ifstream file(RONDO_README);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = readme.find("\n## Learn\n");
  REQUIRE(begin != std::string::npos);
  std::istringstream text(readme.substr(begin + 1, readme.find("\n## ", begin + 1) - begin));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// A command and what the README shows of its output: parts that were left out end each.
struct Shown {
  std::string command{};
  std::vector<std::string> parts{1};
};

std::vector<Shown> shown_commands() {
  std::vector<Shown> all;
  bool inside = false;
  for (const std::string& line : learn_section()) {
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

std::string output_of(const std::string& arguments) {
  FILE* pipe = popen(("'" RONDO_PROGRAM "' " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), size);
  pclose(pipe);
  return text;
}

/// Without the empty line that ends a block of the README.
std::string trimmed(std::string part) {
  part.erase(part.find_last_not_of('\n') + 1);
  return part;
}

}  // namespace

TEST_CASE("the README's commands print what it shows") {
  const std::vector<Shown> commands = shown_commands();
  REQUIRE(commands.size() >= 3);
  for (const Shown& shown : commands) {
    const std::string output = output_of(shown.command);
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

TEST_CASE("the README's screen of --step is one") {
  using namespace rondo;
  const Explanation explanation =
      explain(find_algorithm(Collective::all_reduce, "ring")->build(4, 0));
  std::string screen;
  for (const auto& line : tool::step::view(explanation, {.round = 4, .chunk = 3}, {80, 24}))
    screen += (line.text.empty() ? "" : "    " + line.text) + "\n";
  screen.erase(screen.find("\n\n\n") + 1);  // the empty rest, and the line of keys
  std::string readme;
  for (const std::string& line : learn_section()) readme += line + "\n";
  INFO("The README should hold:\n" << screen);
  CHECK(readme.find("\n\n" + screen + "\n") != std::string::npos);
}
