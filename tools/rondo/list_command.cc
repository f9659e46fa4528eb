#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "algorithms/composition.h"
#include "algorithms/table.h"
#include "core/settings/settings.h"
#include "rondo/types.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/format.h"
#include "transports/table.h"

namespace rondo::tool {
namespace {

std::string cell(std::string_view text, std::size_t width) {
  return padded(std::string(text), width) + " ";
}

void line(const std::string& text) { std::fputs(ended_line(text).c_str(), stdout); }

void list_algorithms() {
  line("ALGORITHMS (of the busiest of P ranks: rounds; hops; sent and reduced, in units of N)");
  std::string_view before;
  for (const Algorithm& row : algorithms()) {
    if (name(row.collective) != before) line("  " + std::string(name(row.collective)));
    before = name(row.collective);
    line("    " + cell(row.name, 18) + cell(row.summary, 52) + std::string(row.cost.rounds) + "; " +
         std::string(row.cost.hops) + "; " + std::string(row.cost.sent) + "; " +
         std::string(row.cost.reduced) + (row.rank_order ? "  *" : ""));
  }
  line("    q = ceil(log2 P); * combines in rank order, for reproducible results");
  line(
      "\nCOMPOSITIONS (several ranks on each host; see rondo verify --hosts 2 --ranks-per-host 2)");
  line("  hierarchical(INSIDE,ACROSS): one algorithm inside each host, one across hosts");
  line("  hierarchical(SOCKET,INSIDE,ACROSS): one inside each socket, one between those of a host");
  std::string names;
  for (const CollectiveInfo& row : collectives)
    if (!hierarchical_compositions(row.collective).empty()) names += " " + std::string(row.name);
  line("      of" + names);
}

template <class Rows>
void list_names(const std::string& title, const Rows& rows) {
  std::string names = title;
  for (const auto& row : rows) names += " " + std::string(row.name);
  line(names);
}

void list_everything() {
  list_algorithms();
  line("\nTRANSPORTS (best first)");
  for (const TransportKind& row : transport_kinds())
    line("  " + cell(row.name, 14) + std::string(row.summary));
  line("");
  list_names("COLLECTIVES", collectives);
  list_names("TYPES", data_types);
  list_names("OPERATORS", reduce_operators);
  line("\nSETTINGS (environment variables)");
  for (const Setting& row : settings()) {
    const char* const either = row.name.empty() || row.alias.empty() ? "" : " or ";
    line("  " + std::string(row.name) + either + std::string(row.alias) + ": " +
         std::string(row.summary));
    line("      " + std::string(row.form) + "; default: " + std::string(row.fallback));
  }
}

}  // namespace

void add_list(CLI::App& program) {
  program
      .add_subcommand("list",
                      "Lists algorithms with their costs, transports, element types, operators and "
                      "settings.")
      ->callback(list_everything);
}

}  // namespace rondo::tool
