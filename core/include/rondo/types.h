// The vocabulary of a call: element types, reduction operators, collectives.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#if __cplusplus > 202002L && __has_include(<stdfloat>)
#include <stdfloat>
#endif

namespace rondo {

/// Element types. Floats of 16 and 8 bits are added in float32, and rounded to their own type once
/// for each hop.
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

/// How two elements are combined.
/// - `avg` is the sum divided by the number of ranks. Integers: the sum is divided and truncated
///   towards zero. Floats: either each contribution or the whole sum is multiplied by 1/ranks,
///   whichever suits the algorithm (see Reduction), in float32 for narrower types.
/// - `bit_and`, `bit_or` and `bit_xor` combine bit by bit. They are for integers only.
enum class ReduceOperator : std::uint8_t { sum, prod, min, max, avg, bit_and, bit_or, bit_xor };

/// What a call does. `scan` gives rank r the sum over the ranks 0 to r, `exclusive_scan` that over 0
/// to r-1. `send_recv` is one message from one rank to another.
enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  scan,
  exclusive_scan,
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
  bool has_root;  ///< the call has a root argument
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
    CollectiveInfo{Collective::scan, "scan", true, false},
    CollectiveInfo{Collective::exclusive_scan, "exclusive_scan", true, false},
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

/// The ranks get sums over different ranks.
constexpr bool is_scan(Collective collective) {
  return collective == Collective::scan || collective == Collective::exclusive_scan;
}
constexpr bool is_integer(DataType type) { return type <= DataType::uint64; }
/// Whether the operator works on elements of this type. If not, a call with both is an Error.
constexpr bool applies_to(ReduceOperator op, DataType type) {
  return !info(op).bitwise || is_integer(type);
}
/// Whether calls of the collective take the operator. An average is of all ranks, so scans have none.
constexpr bool applies_to(ReduceOperator op, Collective collective) {
  return !is_scan(collective) || op != ReduceOperator::avg;
}
/// Why the operator does not work on this type, in words. Empty if it does.
std::string obstacle(ReduceOperator op, DataType type);
constexpr bool is_float(DataType type) { return !is_integer(type); }

namespace detail {

/// std::nullopt where a type has none.
template <class T>
constexpr auto standard_data_type() {
  if constexpr (std::same_as<T, std::byte>) {
    return DataType::uint8;
  } else if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) {
    constexpr DataType by_size[]{DataType::int8, DataType::int16, DataType::int32, DataType::int64};
    constexpr DataType unsigned_by_size[]{DataType::uint8, DataType::uint16, DataType::uint32,
                                          DataType::uint64};
    constexpr int row = std::countr_zero(sizeof(T));
    return std::signed_integral<T> ? by_size[row] : unsigned_by_size[row];
#ifdef __STDCPP_FLOAT16_T__
  } else if constexpr (std::same_as<T, std::float16_t>) {
    return DataType::float16;
#endif
#ifdef __STDCPP_BFLOAT16_T__
  } else if constexpr (std::same_as<T, std::bfloat16_t>) {
    return DataType::bfloat16;
#endif
  } else if constexpr (std::floating_point<T> && sizeof(T) == 4) {
    return DataType::float32;
  } else if constexpr (std::floating_point<T> && sizeof(T) == 8) {
    return DataType::float64;
  } else {
    return std::nullopt;
  }
}

}  // namespace detail

/// The DataType of elements of type T, or std::nullopt where there is none.
/// - Integers and characters: by size and sign. std::byte: uint8. bool has none.
/// - float and double, and std::float32_t and std::float64_t: by size. long double has none.
/// - std::float16_t and std::bfloat16_t, where the compiler has them (C++23).
/// Specialise it for a type of your own that is trivially copyable and has the same bits:
///   template <>
///   inline constexpr auto rondo::data_type_of<__half> = rondo::DataType::float16;
template <class T>
inline constexpr auto data_type_of = detail::standard_data_type<T>();

template <class T>
concept HasDataType = std::same_as<std::remove_cv_t<decltype(data_type_of<T>)>, DataType>;

/// The wider type in which contributions of `type` can be accumulated: float32 for floats of 16 and
/// 8 bits, float64 for float32. std::nullopt for all other types.
constexpr std::optional<DataType> wide_type(DataType type) {
  if (type == DataType::float32) return DataType::float64;
  if (is_float(type) && size_of(type) < size_of(DataType::float32)) return DataType::float32;
  return std::nullopt;
}

/// How a call combines contributions. An operator converts to a Reduction with the usual numbers:
/// every rank gets the same bits, but which bits these are depends on the algorithm. The choice of
/// the algorithm depends on the size and the machine.
///
/// `accumulate` and `reproducible` change that for floats:
/// - The call then chooses among the algorithms that combine all contributions to an element at
///   once and in the order of ranks. `rondo list` marks them. Forcing another one is an Error.
/// - An average is then the whole sum times 1/ranks, rounded once.
/// Integers have the same bits by any algorithm, so nothing changes for them. All ranks must pass
/// equal Reductions.
struct Reduction {
  constexpr Reduction(ReduceOperator by = ReduceOperator::sum, std::optional<DataType> in = {},
                      bool same_bits = false)
      : op(by), accumulate(in), reproducible(same_bits) {}

  ReduceOperator op;
  /// Contributions are combined in this type, and rounded to the call's type once, at the end. It
  /// is wide_type() of the call's type, or the call's type itself, which changes nothing. Any other
  /// type is Error{invalid_argument}. Messages still carry the call's type.
  std::optional<DataType> accumulate;
  /// Floats are combined in rank order, from rank 0 to the last. Then the bits of a result depend
  /// only on the values, the number of ranks, the type, the operator and `accumulate`. They do not
  /// depend on the size of the call, transport, algorithm, machine, CPU or GPU. A NaN stays a NaN,
  /// but its bits may differ.
  bool reproducible;
};

/// Looks a name up. std::nullopt if no row has it.
std::optional<DataType> parse_data_type(std::string_view text);
std::optional<ReduceOperator> parse_reduce_operator(std::string_view text);
std::optional<Collective> parse_collective(std::string_view text);

}  // namespace rondo
