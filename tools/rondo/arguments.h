// Reads and checks the arguments of the subcommands. Errors list the known values.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/composition.h"
#include "algorithms/table.h"
#include "core/plan/choose.h"
#include "core/schedule/schedule.h"
#include "core/schedule/script.h"
#include "tools/rondo/format.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {

/// More cannot be named.
inline constexpr int most_ranks = 1 << 20;

/// "4", "1-64", "4,7,1-16,1024": ascending, without duplicates.
std::vector<int> parse_ranks(std::string_view text, std::string_view option = "--ranks");

/// Of --root.
int root_number(const std::string& text);

/// "64", "8K", "1.5M", "2G" (powers of 1024).
double parse_bytes(std::string_view text);

Collective collective_by_name(const std::string& name);

DataType type_by_name(const std::string& name);
ReduceOperator operator_by_name(const std::string& name);

/// Throws Error{invalid_argument} unless the operator can reduce elements of the type.
void check_applies(ReduceOperator op, DataType type);

/// Throws Error{invalid_argument} for a number of ranks that rondo does not take.
void check_ranks(int ranks);

/// The rows of a collective: one when `algorithm` is given, all when it is empty.
std::vector<const Algorithm*> algorithms_by_name(Collective collective,
                                                 const std::string& algorithm);

/// Throws Error{invalid_argument} unless 0 <= root < ranks.
void check_root(int root, int ranks);

/// The same, and compositions: where the topology has several hosts with several ranks, or where
/// `algorithm` names one, or all ("hierarchical").
std::vector<Composition> compositions_by_name(Collective collective, const std::string& algorithm,
                                              const Topology& topology);

/// An empty `algorithm` is the default choice.
Schedule build_schedule(const std::string& collective, const std::string& algorithm,
                        const Topology& topology, int root);

/// Reads and parses a schedule's text form; "-" is standard input.
Script read_script(const std::string& path);

/// What the command line says of ranks, for a text that may be for many numbers of them.
struct RanksInput {
  std::optional<Topology> topology{};  ///< by --hosts or --topology
  std::optional<int> ranks{};          ///< by --ranks, if it was given
  std::optional<int> root{};           ///< by --root, if it was given
};
/// By the options of a command that has all four.
RanksInput ranks_given(const CLI::App& command, const TopologyInput& where, int ranks, int root);
/// Without any: the only ranks and root that it is for, or 4 ranks, or as few as it is for.
Schedule build_written(const Script& script, const RanksInput& input);
Topology topology_of(const Script& script, const RanksInput& input);

/// The schedules that users wrote for the collective and these ranks, of a file or folder; empty:
/// none.
std::vector<Composition> written_in(const Scripts& scripts, Collective collective,
                                    const Topology& topology);

/// The row that a schedule says it came from, or nullptr.
const Algorithm* row_of(const Schedule& schedule);

}  // namespace rondo::tool
