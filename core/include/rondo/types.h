// The vocabulary of a call: element types, reduction operators, collectives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

/// Element types. 16- and 8-bit floats are added in float32 and rounded to the wire type once a
/// hop.
enum class DataType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2,
};

/// `avg` is the sum divided by the number of ranks: integers divide the sum and truncate towards
/// zero; floats are scaled by 1/ranks, each contribution before it is added or the whole sum once,
/// in float32 for narrower types, as the way that is chosen does best (see Reduction). `bit_and`,
/// `bit_or` and `bit_xor` combine bit by bit; they are for integers only.
enum class ReduceOperator : std::uint8_t { sum, prod, min, max, avg, bit_and, bit_or, bit_xor };

/// What a call does. `send_recv` is one message from one rank to another.
enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  scatter,
  gather,
  barrier,
  send_recv,
};

struct DataTypeInfo {
  DataType type;
  std::string_view name;
  std::size_t bytes;
};

struct ReduceOperatorInfo {
  ReduceOperator op;
  std::string_view name;
  bool bitwise;  ///< for integers only
};

struct CollectiveInfo {
  Collective collective;
  std::string_view name;
  bool reduces;   ///< combines contributions with a ReduceOperator
  bool has_root;  ///< the root argument means something
};

inline constexpr std::array data_types{
    DataTypeInfo{DataType::int8, "int8", 1},
    DataTypeInfo{DataType::uint8, "uint8", 1},
    DataTypeInfo{DataType::int16, "int16", 2},
    DataTypeInfo{DataType::uint16, "uint16", 2},
    DataTypeInfo{DataType::int32, "int32", 4},
    DataTypeInfo{DataType::uint32, "uint32", 4},
    DataTypeInfo{DataType::int64, "int64", 8},
    DataTypeInfo{DataType::uint64, "uint64", 8},
    DataTypeInfo{DataType::float16, "float16", 2},
    DataTypeInfo{DataType::bfloat16, "bfloat16", 2},
    DataTypeInfo{DataType::float32, "float32", 4},
    DataTypeInfo{DataType::float64, "float64", 8},
    DataTypeInfo{DataType::float8_e4m3, "float8_e4m3", 1},
    DataTypeInfo{DataType::float8_e5m2, "float8_e5m2", 1},
};

inline constexpr std::array reduce_operators{
    ReduceOperatorInfo{ReduceOperator::sum, "sum", false},
    ReduceOperatorInfo{ReduceOperator::prod, "prod", false},
    ReduceOperatorInfo{ReduceOperator::min, "min", false},
    ReduceOperatorInfo{ReduceOperator::max, "max", false},
    ReduceOperatorInfo{ReduceOperator::avg, "avg", false},
    ReduceOperatorInfo{ReduceOperator::bit_and, "bit_and", true},
    ReduceOperatorInfo{ReduceOperator::bit_or, "bit_or", true},
    ReduceOperatorInfo{ReduceOperator::bit_xor, "bit_xor", true},
};

inline constexpr std::array collectives{
    CollectiveInfo{Collective::all_reduce, "all_reduce", true, false},
    CollectiveInfo{Collective::reduce_scatter, "reduce_scatter", true, false},
    CollectiveInfo{Collective::all_gather, "all_gather", false, false},
    CollectiveInfo{Collective::broadcast, "broadcast", false, true},
    CollectiveInfo{Collective::reduce, "reduce", true, true},
    CollectiveInfo{Collective::all_to_all, "all_to_all", false, false},
    CollectiveInfo{Collective::scatter, "scatter", false, true},
    CollectiveInfo{Collective::gather, "gather", false, true},
    CollectiveInfo{Collective::barrier, "barrier", false, false},
    CollectiveInfo{Collective::send_recv, "send_recv", false, true},
};

constexpr const DataTypeInfo& info(DataType type) {
  return data_types[static_cast<std::size_t>(type)];
}
constexpr const ReduceOperatorInfo& info(ReduceOperator op) {
  return reduce_operators[static_cast<std::size_t>(op)];
}
constexpr const CollectiveInfo& info(Collective collective) {
  return collectives[static_cast<std::size_t>(collective)];
}

constexpr std::size_t size_of(DataType type) { return info(type).bytes; }
constexpr std::string_view name(DataType type) { return info(type).name; }
constexpr std::string_view name(ReduceOperator op) { return info(op).name; }
constexpr std::string_view name(Collective collective) { return info(collective).name; }

constexpr bool is_integer(DataType type) { return type <= DataType::uint64; }
/// Whether elements of the type can be combined so; a call that asks for more is an Error.
constexpr bool applies_to(ReduceOperator op, DataType type) {
  return !info(op).bitwise || is_integer(type);
}
/// Why it does not apply, in words; empty where it does.
std::string obstacle(ReduceOperator op, DataType type);
constexpr bool is_float(DataType type) { return !is_integer(type); }

/// The type in which contributions of `type` can be accumulated: float32 for 16- and 8-bit floats,
/// float64 for float32; std::nullopt for all others.
constexpr std::optional<DataType> wide_type(DataType type) {
  if (type == DataType::float32) return DataType::float64;
  if (is_float(type) && size_of(type) < size_of(DataType::float32)) return DataType::float32;
  return std::nullopt;
}

/// How a call combines contributions. An operator alone is one, with the usual numbers: every rank
/// gets the same bits, but which ones depends on the algorithm, and that on size and machine.
///
/// Both fields below make a call choose among the algorithms that combine all contributions to an
/// element at once and in the order of ranks (`rondo list` marks them); forcing another one is an
/// Error. An average is then the whole sum, times 1/ranks, rounded once. Integers have the same
/// bits by any algorithm, so for them nothing changes. Equal on all ranks, as the operator is.
struct Reduction {
  constexpr Reduction(ReduceOperator by = ReduceOperator::sum, std::optional<DataType> in = {},
                      bool same_bits = false)
      : op(by), accumulate(in), reproducible(same_bits) {}

  ReduceOperator op;
  /// Contributions are combined in this type from the first to the last, and rounded to the call's
  /// type once, at the end. wide_type() of the call's type, or that type itself, which is as usual;
  /// else Error{invalid_argument}. Messages carry the call's type all the same.
  std::optional<DataType> accumulate;
  /// Floats are combined from rank 0's to rank P-1's, so that the bits of a result depend on the
  /// values, their number, type, operator and `accumulate` only: not on the size of the call, nor
  /// on transport, algorithm, machine, CPU or GPU. A NaN stays one, but its bits may be others.
  bool reproducible;
};

/// Looks a name up; std::nullopt where no row has it.
std::optional<DataType> parse_data_type(std::string_view text);
std::optional<ReduceOperator> parse_reduce_operator(std::string_view text);
std::optional<Collective> parse_collective(std::string_view text);

}  // namespace rondo
