// Operators of your own, on elements of your own. rondo/operators.h has some ready-made ones.
//
//   struct Largest {
//     double value;
//     std::int64_t rank;
//   };
//   constexpr auto larger = [](const Largest& a, const Largest& b) {
//     return a.value > b.value || (a.value == b.value && a.rank < b.rank) ? a : b;
//   };
//   constexpr auto largest = rondo::make_operator<Largest, larger>("largest", rondo::Commutes::yes);
//
//   world.all_reduce(mine, found, largest);      // of std::vector<Largest>, say
//
// - The reductions and scans of rondo::Communicator take an Operator, for host memory.
// - It must be associative. Where it does not commute, elements are combined in the order of ranks, and
//   the algorithm is one of those that `rondo list` marks, or any of a scan's. A function that returns its
//   first argument where two are equal does not commute, unless equal ones are the same in each bit.
// - Several threads may call it at once. An exception that leaves it ends the program.
// - All ranks must pass operators of the same name, size and kind. Otherwise each gets Error{mismatch}.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace rondo {

/// left (op) right == right (op) left, in each bit.
enum class Commutes : bool { no, yes };

/// How two elements are combined. Calls copy it, but for its name, which must live as long as the
/// communicator.
struct Operator {
  const char* name;           ///< for messages; the same on all ranks
  std::size_t element_bytes;  ///< 1 to 4096
  Commutes commutes;
  /// result[i] = left[i] (op) right[i] for i < count, at any alignment. `result` may be `left`.
  void (*combine)(const void* left, const void* right, void* result, std::size_t count) noexcept;
  /// Null, or for an operator that loses something each time: result[i] = operands[0][i] (op)
  /// operands[1][i] (op) ... at once. Then all ranks' elements are combined so, in the order of ranks.
  /// `result` is none of them.
  void (*combine_all)(const void* const* operands, std::size_t size, void* result,
                      std::size_t count) noexcept = nullptr;

  friend bool operator==(const Operator&, const Operator&) = default;
};

inline constexpr std::size_t most_operator_bytes = 4096;

/// An Operator whose elements are a T: trivially copyable.
template <class T>
struct OperatorOn : Operator {};

/// The operator that a function, or a lambda without captures, makes: T(const T&, const T&).
template <class T, auto function>
constexpr OperatorOn<T> make_operator(const char* name, Commutes commutes) {
  static_assert(std::is_trivially_copyable_v<T>, "rondo: elements are copied as bytes");
  static_assert(sizeof(T) <= most_operator_bytes, "rondo: an element is too large");
  constexpr auto combine = [](const void* left, const void* right, void* result,
                              std::size_t count) noexcept {
    const auto* a = static_cast<const std::byte*>(left);
    const auto* b = static_cast<const std::byte*>(right);
    auto* to = static_cast<std::byte*>(result);
    for (std::size_t i = 0; i < count; ++i, a += sizeof(T), b += sizeof(T), to += sizeof(T)) {
      std::array<std::array<std::byte, sizeof(T)>, 2> bytes;
      std::memcpy(bytes[0].data(), a, sizeof(T));
      std::memcpy(bytes[1].data(), b, sizeof(T));
      const T made = function(std::bit_cast<T>(bytes[0]), std::bit_cast<T>(bytes[1]));
      std::memcpy(to, &made, sizeof(T));
    }
  };
  return {{name, sizeof(T), commutes, combine}};
}

}  // namespace rondo
