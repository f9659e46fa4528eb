#include "core/schedule/parse_header.h"

#include <algorithm>
#include <optional>

#include "core/schedule/collective.h"

namespace rondo {
namespace {

constexpr std::size_t most_phases = std::size_t{1} << 16;  ///< Step::phase is one of them

constexpr std::string_view header_words[] = {"collective", "algorithm", "ranks", "root",  "when",
                                             "sizes",      "lanes",     "depth", "parts", "phases"};

std::string known_collectives() {
  std::string names;
  for (const CollectiveInfo& each : collectives)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

/// "4", "2..8", "2..", "any".
void read_ranks(TextLine& line, ParsedScript& script) {
  script.least_ranks = 2;
  script.most_ranks = most_ranks_of_script;
  if (line.take_word("any")) return;
  const auto one = [&](const std::string& expected, int least) {
    return static_cast<int>(line.number(expected, least, most_ranks_of_script));
  };
  script.least_ranks = one("the number of ranks", 1);
  if (!line.take(".."))
    script.most_ranks = script.least_ranks;
  else if (!line.at_end())
    script.most_ranks = one("the largest number of ranks", script.least_ranks);
}

/// "64K..1M", "..4K", "1M..": from that many bytes up to that many.
void read_sizes(TextLine& line, ParsedScript& script) {
  const auto bytes = [&] {
    const std::int64_t count = line.number("a number of bytes", 0, std::int64_t{1} << 32);
    const int shift = line.take("K") ? 10 : line.take("M") ? 20 : line.take("G") ? 30 : 0;
    return static_cast<std::size_t>(count) << shift;
  };
  if (!line.take("..")) {
    script.least_bytes = bytes();
    line.sign("..");
  }
  if (line.at_end()) return;
  const std::size_t begin = line.mark();
  script.most_bytes = bytes();
  if (script.most_bytes < script.least_bytes)
    line.fail_at(begin, "expected at least as many bytes as before");
}

}  // namespace

std::vector<std::string> known_names() {
  return {std::begin(known_name_list), std::end(known_name_list)};
}

bool is_header_word(std::string_view word) { return std::ranges::count(header_words, word) != 0; }

WrittenNumber read_number(TextLine& line, const std::string& expected, Formula::Names names,
                          ParsedScript& script) {
  const auto column = static_cast<std::uint32_t>(line.mark() + 1);
  Formula formula = line.formula(expected, names);
  if (formula.is_constant()) return {formula.value({}), -1, line.line(), column};
  const auto hosts = static_cast<std::uint32_t>(Known::hosts);
  if (formula.needs_hosts() || std::ranges::count(formula.named(), hosts) != 0)
    script.hosts_line = line.line();
  script.formulas.push_back(std::move(formula));
  return {0, static_cast<std::int32_t>(script.formulas.size() - 1), line.line(), column};
}

bool read_header(TextLine& line, std::size_t begin, std::string_view word, ParsedScript& script) {
  const auto number = [&](const std::string& expected) {
    return read_number(line, expected, known_names(), script);
  };
  if (!is_header_word(word)) return false;
  if (!script.header.insert(std::string(word)).second)
    line.fail_at(begin, "'" + std::string(word) + "' stands twice");
  if (word == "collective") {
    const std::size_t name = line.mark();
    const std::optional<Collective> known = parse_collective(line.name("a collective"));
    if (!known) line.fail_at(name, "expected a collective (" + known_collectives() + ")");
    script.collective = *known;
  } else if (word == "algorithm") {
    script.algorithm = line.name("a name");
  } else if (word == "ranks") {
    read_ranks(line, script);
  } else if (word == "root") {
    script.any_root = line.take_word("any");
    if (!script.any_root) script.root = number("the root");
  } else if (word == "when") {
    script.when = number("a condition");
  } else if (word == "sizes") {
    read_sizes(line, script);
  } else if (word == "lanes") {
    script.lanes = number("the number of lanes");
  } else if (word == "depth") {
    script.depth = number("the depth of channels");
  } else if (word == "parts") {
    script.parts = number("the parts of a block");
  } else {
    while (!line.at_end()) script.phases.push_back(line.name("a phase's name"));
    if (script.phases.size() > most_phases)
      line.fail("expected at most " + std::to_string(most_phases) + " phases");
  }
  return true;
}

}  // namespace rondo
