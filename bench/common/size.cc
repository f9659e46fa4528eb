#include "bench/common/size.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace rondo::bench {
namespace {

constexpr std::array units{"B", "KB", "MB", "GB"};

/// 1024^k for B, K, M, G of either case; 0 for anything else.
double unit_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix.size() > 1) return 0;
  switch (suffix.front()) {
    case 'K':
    case 'k':
      return 1024.0;
    case 'M':
    case 'm':
      return 1024.0 * 1024.0;
    case 'G':
    case 'g':
      return 1024.0 * 1024.0 * 1024.0;
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string number(text.substr(0, digits));
  if (number.empty() || number == ".") return std::nullopt;
  const double unit = digits == std::string_view::npos ? 1 : unit_of(text.substr(digits));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end) * unit;
  if (unit == 0 || *end != '\0' || value >= std::ldexp(1.0, 62)) return std::nullopt;
  return static_cast<std::size_t>(value);
}

std::string format_size(std::size_t bytes) {
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  value = std::round(value * 10) / 10;
  const char* form = value == std::floor(value) ? "%.0f %s" : "%.1f %s";
  std::snprintf(text.data(), text.size(), form, value, units[unit]);
  return text.data();
}

std::size_t next_size(std::size_t size, std::size_t factor, std::size_t step) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  if (factor > 1) return size == 0 || size > none / factor ? none : size * factor;
  return step == 0 || size > none - step ? none : size + step;
}

}  // namespace rondo::bench
