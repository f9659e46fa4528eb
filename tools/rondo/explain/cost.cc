// The end of an explanation: what it costs, and what it must cost at the least.
#include <algorithm>
#include <array>

#include "core/schedule/collective.h"
#include "core/schedule/formula.h"
#include "tools/rondo/explain/names.h"
#include "tools/rondo/explain/text.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr std::size_t column_gap = 2;

/// A row: what, the cost line's formula, what was counted, the lower bound.
using Row = std::array<std::string, 4>;

class CostRows {
 public:
  CostRows(const Explanation& explanation, const CostFormulas& cost)
      : it_(explanation), cost_(cost), variables_(cost_variables(explanation.header.ranks)) {}

  std::vector<Row> rows() const {
    const CostFormulas least = lower_bound(it_.header.collective);
    const CostCounts& counts = it_.counts;
    return {
        {"Busiest rank", cost_.rounds.empty() ? "" : "cost line", "counted", "lower bound"},
        number("rounds", cost_.rounds, counts.rounds, least.rounds),
        number("hops", cost_.hops, counts.hops, least.hops),
        carried("sent", cost_.sent, counts.sent, it_.bytes.sent, least.sent),
        carried("received", cost_.received, counts.received, it_.bytes.received, least.received),
        carried("reduced", cost_.reduced, counts.reduced, it_.bytes.reduced, least.reduced)};
  }

 private:
  Row number(const char* what, std::string_view formula, double counted,
             std::string_view least) const {
    const auto text = [&](std::string_view of) {
      return of.empty() ? "" : with_value(of, "", number_text(evaluate(of, variables_)));
    };
    return {what, text(formula), or_dash(number_text(counted)), text(least)};
  }

  Row carried(const char* what, std::string_view formula, double counted, double bytes,
              std::string_view least) const {
    const bool sized = it_.sizes.has_value() && !is_token(it_.header.collective);
    const double whole =
        sized ? static_cast<double>(partition_of(it_).elements() * size_of(it_.sizes->type)) : 1;
    const auto value = [&](double n) {
      return sized ? size_text(n * whole) : number_text(n) + " N";
    };
    const auto text = [&](std::string_view of) {
      return of.empty() ? "" : with_value(of, " N", value(evaluate(of, variables_)), !sized);
    };
    return {what, text(formula), or_dash(sized ? size_text(bytes) : value(counted)), text(least)};
  }

  std::string or_dash(const std::string& counted) const {
    return it_.findings.empty() ? counted : "-";
  }

  /// "2(P-1)/P N = 1.5 N"; the value alone where the formula is a number already.
  static std::string with_value(std::string_view formula, const std::string& unit,
                                const std::string& value, bool plain = true) {
    const bool is_number = formula.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_number && (plain || formula == "0")) return value;
    return (is_number && formula == "1" ? unit.substr(1) : std::string(formula) + unit) + " = " +
           value;
  }

  const Explanation& it_;
  CostFormulas cost_;
  Variables variables_;
};

/// Cells too wide for their column stand on a line of their own.
std::string lay_out(const std::vector<Row>& rows, std::size_t width) {
  std::array<std::size_t, 4> columns{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) columns[i] = std::max(columns[i], row[i].size());
  const std::size_t others = columns[0] + columns[2] + columns[3] + 3 * column_gap;
  if (columns[1] + others > width) {
    columns[1] = 0;
    for (const Row& row : rows)
      if (row[1].size() + others <= width) columns[1] = std::max(columns[1], row[1].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = padded(row[0], columns[0] + column_gap);
    if (row[1].size() > columns[1]) {
      text += line + row[1] + "\n";
      line = std::string(columns[0] + column_gap, ' ') + padded("", columns[1] + column_gap);
    } else if (columns[1] > 0) {
      line += padded(row[1], columns[1] + column_gap);
    }
    text += ended_line(line + padded(row[2], columns[2] + column_gap) + row[3]);
  }
  return text;
}

}  // namespace

std::string cost_table(const Explanation& explanation, const CostFormulas& cost,
                       std::size_t width) {
  const int ranks = explanation.header.ranks;
  std::string text = "\n" + lay_out(CostRows(explanation, cost).rows(), width);
  text += "P = " + counted(ranks, "rank") +
          ", q = ceil(log2 P) = " + number_text(cost_variables(ranks).at("q")) +
          "; hops: messages that must follow each other\n";
  if (!explanation.sizes || is_token(explanation.header.collective)) return text;
  const Partition partition = partition_of(explanation);
  const double bytes = static_cast<double>(partition.elements() * size_of(explanation.sizes->type));
  bool equal = true;
  for (int chunk = 1; chunk < partition.layout().chunks(); ++chunk)
    equal = equal && partition.size(chunk) == partition.size(0);
  text += "N = " + size_text(bytes) +
          (equal ? "\n" : "; its chunks differ in size, which the formulas do not know\n");
  return text;
}

CostFormulas lower_bound(Collective collective) {
  const auto formulas = [](std::string_view rounds, std::string_view sent,
                           std::string_view received, std::string_view reduced) {
    return CostFormulas{rounds, {}, sent, received, reduced};
  };
  switch (collective) {
    case Collective::all_reduce:
      return formulas("q", "2(P-1)/P", "2(P-1)/P", "(P-1)/P");
    case Collective::reduce_scatter:
      return formulas("q", "(P-1)/P", "(P-1)/P", "(P-1)/P");
    case Collective::reduce:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "(P-1)/P");
    case Collective::scan:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "(P-1)/P");
    case Collective::exclusive_scan:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "max(0,P-2)/P");
    case Collective::broadcast:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "0");
    case Collective::all_gather:
    case Collective::all_to_all:
      return formulas("q", "(P-1)/P", "(P-1)/P", "0");
    case Collective::scatter:
      return formulas("q", "(P-1)/P", "min(1,P-1)/P", "0");
    case Collective::gather:
      return formulas("q", "min(1,P-1)/P", "(P-1)/P", "0");
    case Collective::barrier:
      return formulas("q", "0", "0", "0");
    case Collective::send_recv:
      return formulas("min(1,P-1)", "min(1,P-1)", "min(1,P-1)", "0");
  }
  return {};
}

}  // namespace rondo::tool
