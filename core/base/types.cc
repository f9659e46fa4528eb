#include "rondo/types.h"

#include <algorithm>

namespace rondo {
namespace {

template <class Table>
auto find_named(const Table& table, std::string_view text) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& row) { return row.name == text; });
}

/// Rows are indexed by their enumerator: info() relies on it.
template <class Table, class Key>
constexpr bool in_order(const Table& table, Key key) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(key(table[i])) != i) return false;
  }
  return true;
}
static_assert(in_order(data_types, [](const auto& row) { return row.type; }));
static_assert(in_order(reduce_operators, [](const auto& row) { return row.op; }));
static_assert(in_order(collectives, [](const auto& row) { return row.collective; }));

}  // namespace

std::string obstacle(ReduceOperator op, DataType type) {
  if (applies_to(op, type)) return {};
  return std::string(name(op)) + " combines the bits of integers, not of " +
         std::string(name(type));
}

std::optional<DataType> parse_data_type(std::string_view text) {
  const auto row = find_named(data_types, text);
  if (row == data_types.end()) return std::nullopt;
  return row->type;
}

std::optional<ReduceOperator> parse_reduce_operator(std::string_view text) {
  const auto row = find_named(reduce_operators, text);
  if (row == reduce_operators.end()) return std::nullopt;
  return row->op;
}

std::optional<Collective> parse_collective(std::string_view text) {
  const auto row = find_named(collectives, text);
  if (row == collectives.end()) return std::nullopt;
  return row->collective;
}

}  // namespace rondo
