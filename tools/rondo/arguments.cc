#include "tools/rondo/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "core/schedule/text.h"

namespace rondo::tool {
namespace {

/// Numbers of ranks that are tried for a schedule that is not for the usual one.
constexpr int most_tried = 1024;

int rank_number(std::string_view text, std::string_view whole, std::string_view option) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > most_ranks)
    reject("'" + std::string(text) + "' in " + std::string(option) + " '" + std::string(whole) +
               "' is not a number from 1 to " + std::to_string(most_ranks),
           "a number, a range or a list, such as 4,7,1-64");
  return value;
}

template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

/// The parts that a collective's compositions may have.
[[noreturn]] void refuse_composition(Collective collective, const std::string& algorithm,
                                     const std::vector<Composition>& known) {
  const std::string of = "no algorithm '" + algorithm + "' for " + std::string(name(collective));
  if (known.empty()) reject(of, "another algorithm: it has no hierarchical ones");
  std::string inside;
  std::string across;
  const bool three = !hierarchical_compositions(collective, Levels::three).empty();
  for (const Composition& each : known) {
    const auto add = [](std::string& names, std::string_view one) {
      if ((", " + names + ",").find(", " + std::string(one) + ",") == std::string::npos)
        names += (names.empty() ? "" : ", ") + std::string(one);
    };
    add(inside, each.inside);
    add(across, each.across->name);
  }
  reject(of, std::string(hierarchical_name) + "(INSIDE,ACROSS) with INSIDE one of " + inside +
                 ", and ACROSS one of " + across +
                 (three ? "; or (SOCKET,INSIDE,ACROSS) with SOCKET like INSIDE" : ""));
}

}  // namespace

std::vector<int> parse_ranks(std::string_view text, std::string_view option) {
  std::set<int> ranks;
  std::string_view rest = text;
  for (;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const std::size_t dash = item.find('-');
    const int first = rank_number(item.substr(0, dash), text, option);
    const int last =
        dash == std::string_view::npos ? first : rank_number(item.substr(dash + 1), text, option);
    if (last < first)
      reject("the range '" + std::string(item) + "' in " + std::string(option) + " is empty",
             "smaller number first");
    for (int rank = first; rank <= last; ++rank) ranks.insert(rank);
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  return {ranks.begin(), ranks.end()};
}

int root_number(const std::string& text) {
  int root = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), root);
  if (error != std::errc{} || end != text.data() + text.size())
    reject("--root '" + text + "' is not a rank", "a rank, or 'all'");
  return root;
}

double parse_bytes(std::string_view text) {
  const std::string digits(text);
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  constexpr std::string_view units = "KMGT";
  double unit = 1;
  if (*end != '\0') {
    const std::size_t power = units.find(*end >= 'a' ? static_cast<char>(*end - 'a' + 'A') : *end);
    for (std::size_t i = 0; power != std::string_view::npos && i <= power; ++i) unit *= 1024;
    if (power != std::string_view::npos) ++end;
  }
  if (end == digits.c_str() || *end != '\0' || !(value >= 0) || value > 1e15)
    reject("'" + digits + "' is not a size in bytes", "a number with K, M, G or T, such as 1M");
  return value * unit;
}

Collective collective_by_name(const std::string& name) {
  const std::optional<Collective> found = parse_collective(name);
  if (!found) reject("unknown collective '" + name + "'", "one of " + names_of(rondo::collectives));
  return *found;
}

DataType type_by_name(const std::string& name) {
  for (const DataTypeInfo& row : data_types)
    if (row.name == name) return row.type;
  reject("unknown type '" + name + "'", "one of " + names_of(data_types));
}

ReduceOperator operator_by_name(const std::string& name) {
  for (const ReduceOperatorInfo& row : reduce_operators)
    if (row.name == name) return row.op;
  reject("unknown operator '" + name + "'", "one of " + names_of(reduce_operators));
}

void check_applies(ReduceOperator op, DataType type) {
  if (!applies_to(op, type)) reject(obstacle(op, type), "an integer type, or another operator");
}

void check_ranks(int ranks) {
  if (ranks < 1 || ranks > most_ranks)
    reject("--ranks is " + std::to_string(ranks),
           "a number from 1 to " + std::to_string(most_ranks));
}

std::vector<const Algorithm*> algorithms_by_name(Collective collective,
                                                 const std::string& algorithm) {
  std::vector<const Algorithm*> rows;
  std::vector<Algorithm> known;
  for (const Algorithm& row : algorithms()) {
    if (row.collective != collective) continue;
    known.push_back(row);
    if (algorithm.empty() || row.name == algorithm) rows.push_back(&row);
  }
  if (rows.empty())
    reject("no algorithm '" + algorithm + "' for " + std::string(name(collective)),
           "one of " + names_of(known));
  return rows;
}

void check_root(int root, int ranks) {
  if (root < 0 || root >= ranks)
    reject("root " + std::to_string(root) + " is not one of " + std::to_string(ranks) + " ranks",
           "a root from 0 to " + std::to_string(ranks - 1));
}

std::vector<Composition> compositions_by_name(Collective collective, const std::string& algorithm,
                                              const Topology& topology) {
  std::vector<Composition> all;
  const bool named = algorithm.starts_with(hierarchical_name);
  if (!named)
    for (const Algorithm* row : algorithms_by_name(collective, algorithm))
      all.push_back({.across = row});
  if (!named && (!algorithm.empty() || !Hosts(topology).have_two_levels())) return all;
  const std::vector<Composition>& known = hierarchical_compositions(collective);
  if (!named || algorithm == hierarchical_name)
    all.insert(all.end(), known.begin(), known.end());
  else if (const Composition found = find_composition(collective, algorithm))
    all.push_back(found);
  if (all.empty()) refuse_composition(collective, algorithm, known);
  return all;
}

Schedule build_schedule(const std::string& collective, const std::string& algorithm,
                        const Topology& topology, int root) {
  const Collective found = collective_by_name(collective);
  check_ranks(topology.ranks);
  check_root(root, topology.ranks);
  return compositions_by_name(found, algorithm, topology).front().build(topology, root);
}

Script read_script(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file || std::filesystem::is_directory(path))
      reject("cannot read '" + path + "'", "the path of a schedule's text");
  }
  std::istream& from = path == "-" ? std::cin : file;
  std::string text(most_schedule_bytes + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(from.gcount()));
  return parse_script(text, path == "-" ? "standard input" : path);
}

RanksInput ranks_given(const CLI::App& command, const TopologyInput& where, int ranks, int root) {
  RanksInput given{.topology = topology_of(where)};
  if (command.count("--ranks") > 0) given.ranks = ranks;
  if (command.count("--root") > 0) given.root = root;
  return given;
}

Topology topology_of(const Script& script, const RanksInput& input) {
  if (input.topology) return *input.topology;
  constexpr int usual_ranks = 4;
  if (input.ranks) check_ranks(*input.ranks);
  Topology topology{.ranks = input.ranks.value_or(usual_ranks)};
  if (input.ranks || script.unfit(topology).empty()) return topology;
  for (int tried = 0; tried < most_tried; ++tried) {
    topology.ranks = script.least_ranks() + tried;
    if (script.unfit(topology).empty()) return topology;
  }
  topology.ranks = script.least_ranks();
  return topology;
}

Schedule build_written(const Script& script, const RanksInput& input) {
  const Topology topology = topology_of(script, input);
  const int root = input.root.value_or(script.for_any_root() ? 0 : script.only_root(topology));
  check_root(root, topology.ranks);
  return script.build(topology, root);
}

std::vector<Composition> written_in(const Scripts& scripts, Collective collective,
                                    const Topology& topology) {
  std::vector<Composition> all;
  for (const Script& script : scripts)
    if (script.collective() == collective && script.unfit(topology).empty())
      all.push_back({.written = script});
  return all;
}

const Algorithm* row_of(const Schedule& schedule) {
  return find_algorithm(schedule.collective, schedule.algorithm);
}

}  // namespace rondo::tool
