// What formulas compute with: operators, and functions that a text calls. Private to core/schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/schedule/formula.h"

namespace rondo::formula {

using Arguments = std::span<const double>;

/// One of `value` and `of_hosts` is null.
struct Function {
  std::string_view name;
  std::size_t least_arguments;
  std::size_t most_arguments;
  double (*value)(Arguments);
  double (*of_hosts)(Arguments, const Hosts&) = nullptr;
};

/// Operators first, which no text calls by name.
std::span<const Function> functions();
inline constexpr std::size_t first_called = 16;

/// The number of the row; as many as there are rows where there is none.
std::uint8_t operation(std::string_view name);

/// Throws Formula::Wrong.
[[noreturn]] void refuse(const std::string& what);

}  // namespace rondo::formula
