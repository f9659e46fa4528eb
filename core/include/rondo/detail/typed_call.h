// What the calls of rondo/typed.h check. Not for programs to use.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "rondo/error.h"
#include "rondo/types.h"
#include "rondo/work.h"

namespace rondo::detail {

/// Not memory without a type, such as rondo::Memory's.
template <class Pointer>
concept PointsToObjects =
    std::is_pointer_v<Pointer> && std::is_object_v<std::remove_pointer_t<Pointer>>;

template <class Argument>
concept Contiguous = requires(Argument& argument) {
  { std::data(argument) } -> PointsToObjects;
  { std::size(argument) } -> std::convertible_to<std::size_t>;
};

template <class Argument>
constexpr auto span_of(Argument& argument) {
  if constexpr (Contiguous<Argument>)
    return std::span(std::data(argument), std::size(argument));
  else
    return std::span(&argument, 1);
}

/// The element type of an argument, const where it cannot be written.
template <class Argument>
using ElementOf =
    typename decltype(span_of(std::declval<std::remove_reference_t<Argument>&>()))::element_type;

/// What is asked of every buffer when the program is compiled.
template <class Argument>
constexpr DataType checked_type() {
  using Element = std::remove_cv_t<ElementOf<Argument>>;
  static_assert(std::is_lvalue_reference_v<Argument> ||
                    std::ranges::enable_borrowed_range<std::remove_cvref_t<Argument>>,
                "rondo: this buffer is a temporary, which may be gone before the call completes. "
                "Give it a name, or pass a std::span");
  static_assert(HasDataType<Element>,
                "rondo: this element type has no DataType. Specialise rondo::data_type_of for it, "
                "or use a type of the list in rondo/types.h");
  if constexpr (HasDataType<Element>) {
    static_assert(
        std::is_trivially_copyable_v<Element> && sizeof(Element) == size_of(data_type_of<Element>),
        "rondo: an element must be trivially copyable and as large as its DataType");
    return data_type_of<Element>;
  } else {
    return DataType{};
  }
}

/// A buffer as the calls on raw memory take it.
template <class Pointer>
struct RawBuffer {
  Pointer buffer;
  std::size_t count;
  DataType type;
};

template <class Argument>
RawBuffer<const void*> sent(std::remove_reference_t<Argument>& argument) {
  const auto elements = span_of(argument);
  return {elements.data(), elements.size(), checked_type<Argument>()};
}

template <class Argument>
RawBuffer<void*> received(std::remove_reference_t<Argument>& argument) {
  const auto elements = span_of(argument);
  constexpr bool writable = !std::is_const_v<ElementOf<Argument>>;
  static_assert(writable, "rondo: this output is const; the call writes to it");
  if constexpr (writable)
    return {elements.data(), elements.size(), checked_type<Argument>()};
  else
    return {};
}

/// A typed call's buffers, as the calls on raw memory take them. A function for each shape of calls
/// checks the sizes and sets `count`.
struct TypedCall {
  const char* name;
  std::string_view elements;  ///< what they are, in words
  int rank;
  std::size_t ranks;
  DataType type = DataType::uint8;  ///< where there is no operator of the caller's
  const void* input;
  std::size_t in;  ///< elements
  void* output;
  std::size_t out;  ///< elements
  std::size_t count = 0;

  /// The operator is one of such elements.
  TypedCall of_elements(std::size_t bytes, std::size_t of_operator) const {
    if (bytes == of_operator) return *this;
    reject("the operator's elements have " + std::to_string(of_operator) + " bytes, the buffers' " +
           std::to_string(bytes));
  }
  /// Input and output have the same size.
  TypedCall equal() const { return needing(in, in, "both need the same number", in); }
  /// The same on the root. Other ranks have only one of the two.
  TypedCall reduced(int root) const { return rank == root ? equal() : counting(in); }
  /// The same on all ranks but the first, whose output is not used.
  TypedCall scanned() const { return rank > 0 ? equal() : counting(in); }
  TypedCall broadcasted(int root) const { return rank == root ? equal() : counting(out); }

  /// The output has a block like the input for each rank.
  TypedCall gathered(std::optional<int> root = {}) const {
    if (root.value_or(rank) != rank) return counting(in);
    return needing(in, ranks * in, "the output takes one block for each rank", in);
  }
  /// The input has a block like the output for each rank.
  TypedCall scattered(std::optional<int> root = {}) const {
    if (root.value_or(rank) != rank) return counting(out);
    return needing(ranks * out, out, "the input has one block for each rank", out);
  }
  /// Both have a block for each rank.
  TypedCall exchanged() const {
    const std::size_t block = in / ranks;
    return needing(ranks * block, ranks * block, "each needs one block of equal size for each rank",
                   block);
  }

  /// The same with a count for each block. The call on raw memory refuses lists of other lengths.
  TypedCall gathered(std::span<const std::size_t> counts, std::optional<int> root = {}) const {
    if (counts.size() != ranks) return *this;
    const bool whole = root.value_or(rank) == rank;
    return needing(counts[own()], whole ? sum(counts) : out, "the list of counts says so", 0);
  }
  TypedCall scattered(std::span<const std::size_t> counts, std::optional<int> root = {}) const {
    if (counts.size() != ranks) return *this;
    const bool whole = root.value_or(rank) == rank;
    return needing(whole ? sum(counts) : in, counts[own()], "the list of counts says so", 0);
  }
  /// Every block lies inside its buffer.
  TypedCall contained(const Blocks& sent, const Blocks& received) const {
    contain(sent, in, "sent", "input");
    contain(received, out, "received", "output");
    return *this;
  }

 private:
  std::size_t own() const { return static_cast<std::size_t>(rank); }
  static std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }
  TypedCall counting(std::size_t elements) const {
    TypedCall counted = *this;
    counted.count = elements;
    return counted;
  }
  TypedCall needing(std::size_t of_input, std::size_t of_output, const char* why,
                    std::size_t elements) const {
    if (in == of_input && out == of_output) return counting(elements);
    reject("the input has " + std::to_string(in) + " elements and the output " +
           std::to_string(out) + ", but " + std::to_string(of_input) + " and " +
           std::to_string(of_output) + " are needed on " + std::to_string(ranks) +
           " ranks: " + why);
  }
  void contain(const Blocks& blocks, std::size_t size, const char* kind, const char* buffer) const {
    const bool packed = blocks.displacements.empty();
    if (blocks.counts.size() != ranks || (!packed && blocks.displacements.size() != ranks)) return;
    std::size_t begin = 0;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const std::size_t elements = blocks.counts[peer];
      if (!packed) begin = blocks.displacements[peer];
      if (elements > 0 && (begin > size || elements > size - begin)) {
        reject(std::string("the ") + kind + " block of rank " + std::to_string(peer) + " has " +
               std::to_string(elements) + " elements from " + std::to_string(begin) +
               " on, but the " + buffer + " has " + std::to_string(size));
      }
      begin += elements;
    }
  }
  [[noreturn]] void reject(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, what,
                {.rank = rank,
                 .call = std::string(name) + " (" + std::string(elements) + ")",
                 .remedy = "resize a buffer, or pass a std::span of the part that is meant"});
  }
};

}  // namespace rondo::detail
