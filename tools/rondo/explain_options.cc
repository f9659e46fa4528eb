#include "tools/rondo/explain_options.h"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "core/schedule/collective.h"
#include "tools/rondo/arguments.h"

namespace rondo::tool {
namespace {

constexpr long long most_elements = 1'000'000'000'000;
constexpr std::size_t most_values = 65536;
constexpr double rank_step = 10;  ///< element i of rank r is rank_step * r + i

double value_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    reject(
        "'" + text + "' in --values is not a number",
        "commas between numbers, semicolons between ranks, quotes around all, and --values last, "
        "such as --values '1,2;3,4'");
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

/// Elements of a rank's input buffer, when each block (or the vector) has `count` elements.
std::size_t input_elements(const Schedule& schedule, int rank, std::size_t count) {
  const ChunkSpan span =
      held(schedule.collective, Buffer::input, schedule.layout, rank, schedule.root);
  return static_cast<std::size_t>(span.count / schedule.layout.parts) * count;
}

/// Inputs by rank, from one list for each rank that has an input.
std::vector<std::vector<double>> spread(const Schedule& schedule,
                                        std::vector<std::vector<double>> lists) {
  std::vector<std::vector<double>> inputs(static_cast<std::size_t>(schedule.ranks));
  std::size_t taken = 0;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (input_elements(schedule, rank, 1) == 0) continue;
    if (taken < lists.size()) inputs[static_cast<std::size_t>(rank)] = std::move(lists[taken]);
    ++taken;
  }
  if (taken != lists.size())
    reject("--values has lists for " + std::to_string(lists.size()) + " ranks, but " +
               std::to_string(taken) + " of " + std::to_string(schedule.ranks) + " have an input",
           "one list for each of them, separated by semicolons");
  return inputs;
}

/// The count that makes the first list fit.
std::size_t count_of(const Schedule& schedule, const std::vector<std::vector<double>>& inputs) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::size_t blocks = input_elements(schedule, rank, 1);
    if (blocks > 0) return inputs[static_cast<std::size_t>(rank)].size() / blocks;
  }
  return 0;
}

void check_values(const Schedule& schedule, const std::vector<std::vector<double>>& inputs,
                  std::size_t count) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::size_t wanted = input_elements(schedule, rank, count);
    const std::size_t given = inputs[static_cast<std::size_t>(rank)].size();
    if (given != wanted || given > most_values)
      reject("--values has " + std::to_string(given) + " numbers for rank " + std::to_string(rank) +
                 ", whose input has " + std::to_string(wanted),
             "the same count for each rank, a multiple of the number of blocks, at most " +
                 std::to_string(most_values));
  }
}

std::vector<std::vector<double>> made_up(const Schedule& schedule, std::size_t count) {
  std::vector<std::vector<double>> inputs;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::size_t elements = input_elements(schedule, rank, count);
    if (elements > most_values)
      reject("--values would show " + std::to_string(elements) + " numbers a rank",
             "a --count that leaves at most " + std::to_string(most_values));
    auto& own = inputs.emplace_back();
    for (std::size_t i = 0; i < elements; ++i)
      own.push_back(rank_step * rank + static_cast<double>(i));
  }
  return inputs;
}

}  // namespace

std::vector<std::vector<double>> parse_values(const std::string& text) {
  std::vector<std::vector<double>> lists;
  for (const std::string& rank : split(text, ';')) {
    auto& numbers = lists.emplace_back();
    for (const std::string& each : split(rank, ',')) numbers.push_back(value_of(each));
  }
  return lists;
}

CostFormulas formulas_of(const Schedule& schedule) {
  const Algorithm* row = row_of(schedule);
  if (row == nullptr) return {};
  return {row->cost.rounds, row->cost.hops, row->cost.sent, {}, row->cost.reduced};
}

Explained explained_by(const ExplainArguments& arguments) {
  if (arguments.collective.empty() == arguments.file.empty())
    reject("there is nothing to explain, or too much",
           "either COLLECTIVE or --file FILE, e.g. rondo explain all_reduce");
  if (!arguments.file.empty()) {
    const Script script = read_script(arguments.file);
    const Topology topology = topology_of(script, arguments.given);
    const Schedule schedule = build_written(script, arguments.given);
    if (const std::string words = script.unprovable(topology, schedule.root); !words.empty())
      reject(script.source() + " " + words, "fewer ranks, lanes, chunks or steps");
    return {schedule, topology, script.line_of(topology, schedule.root)};
  }
  const Topology topology = topology_of(arguments.where, arguments.ranks);
  return {build_schedule(arguments.collective, arguments.algorithm, topology, arguments.root),
          topology,
          {}};
}

ExplainOptions options_of(const ExplainArguments& arguments, const Schedule& schedule) {
  ExplainOptions options;
  if (!arguments.has_count && !arguments.has_values) {
    if (!arguments.type.empty()) reject("--type needs --count or --values", "--count N");
    return options;
  }
  if (is_token(schedule.collective))
    reject("a " + std::string(name(schedule.collective)) + " has no elements",
           "leave out --count and --values");
  if (arguments.has_count && (arguments.count < 1 || arguments.count > most_elements))
    reject("--count is " + std::to_string(arguments.count),
           "a number of elements from 1 to " + std::to_string(most_elements));
  // Without a count: one element in each chunk.
  options.sizes = {.count = arguments.has_count ? static_cast<std::size_t>(arguments.count)
                                                : static_cast<std::size_t>(schedule.layout.parts)};
  if (!arguments.type.empty()) options.sizes->type = type_by_name(arguments.type);
  if (!arguments.has_values) return options;
  if (arguments.values.empty()) {
    options.inputs = made_up(schedule, options.sizes->count);
    return options;
  }
  options.inputs = spread(schedule, parse_values(arguments.values));
  if (!arguments.has_count) options.sizes->count = count_of(schedule, options.inputs);
  check_values(schedule, options.inputs, options.sizes->count);
  return options;
}

}  // namespace rondo::tool
