// Reads and checks what `rondo explain` is asked for.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/arguments.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {

struct ExplainArguments {
  std::string collective{};
  std::string algorithm{};
  std::string file{};
  int ranks = 4;
  TopologyInput where{};
  int root = 0;
  RanksInput given{};  ///< what of ranks, where and root was given, for `file`
  std::size_t width = 80;
  bool has_count = false;
  long long count = 0;
  std::string type{};
  bool has_values = false;
  std::string values{};  ///< "1,2;3,4": numbers by rank; empty: rank r's element i is r*10+i
  std::string svg{};     ///< a file for an animated picture; "-": standard output
};

/// A row's cost line, for render().
CostFormulas formulas_of(const Schedule& schedule);

/// The schedule that the arguments ask for, and where its ranks are.
struct Explained {
  Schedule schedule{};
  Topology topology{};
  LineOf line_of{};  ///< of a file's steps
};
/// Throws Error{invalid_argument} that lists the known values.
Explained explained_by(const ExplainArguments& arguments);

/// Sizes and inputs. Throws Error{invalid_argument} for a count of 0, an unknown type, or a wrong
/// number of values.
ExplainOptions options_of(const ExplainArguments& arguments, const Schedule& schedule);

/// "1,2,3;4,5,6": one list for each rank that has an input.
std::vector<std::vector<double>> parse_values(const std::string& text);

}  // namespace rondo::tool
