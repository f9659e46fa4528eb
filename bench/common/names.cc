#include "bench/common/names.h"

#include <array>

namespace rondo::bench {
namespace {

struct TypeName {
  DataType type;
  std::string_view column;
};

// In nccl-tests' order, which is the order of `-d all`; rondo's two more follow.
constexpr std::array type_names{
    TypeName{DataType::int8, "int8"},          TypeName{DataType::uint8, "uint8"},
    TypeName{DataType::int32, "int32"},        TypeName{DataType::uint32, "uint32"},
    TypeName{DataType::int64, "int64"},        TypeName{DataType::uint64, "uint64"},
    TypeName{DataType::float16, "half"},       TypeName{DataType::float32, "float"},
    TypeName{DataType::float64, "double"},     TypeName{DataType::bfloat16, "bfloat16"},
    TypeName{DataType::float8_e4m3, "f8e4m3"}, TypeName{DataType::float8_e5m2, "f8e5m2"},
    TypeName{DataType::int16, "int16"},        TypeName{DataType::uint16, "uint16"},
};
static_assert(type_names.size() == data_types.size());

// In nccl-tests' order; rondo's three more follow.
constexpr std::array operators{
    ReduceOperator::sum, ReduceOperator::prod,    ReduceOperator::max,    ReduceOperator::min,
    ReduceOperator::avg, ReduceOperator::bit_and, ReduceOperator::bit_or, ReduceOperator::bit_xor};
static_assert(operators.size() == reduce_operators.size());

}  // namespace

std::string_view column_name(DataType type) {
  for (const TypeName& row : type_names) {
    if (row.type == type) return row.column;
  }
  return name(type);
}

std::vector<DataType> select_types(std::string_view text) {
  std::vector<DataType> selected;
  for (const TypeName& row : type_names) {
    if (text == "all" || text == row.column || text == name(row.type)) selected.push_back(row.type);
  }
  return selected;
}

std::vector<ReduceOperator> select_operators(std::string_view text) {
  std::vector<ReduceOperator> selected;
  for (const ReduceOperator op : operators) {
    if (text == "all" || text == name(op)) selected.push_back(op);
  }
  return selected;
}

std::string known_types() {
  std::string list;
  for (const TypeName& row : type_names) list.append(row.column).append(", ");
  return list + "all";
}

std::string known_operators() {
  std::string list;
  for (const ReduceOperator op : operators) list.append(name(op)).append(", ");
  return list + "all";
}

}  // namespace rondo::bench
