#include "core/base/environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>

namespace rondo {

Environment::Environment(std::span<const std::string> entries) {
  for (const auto& entry : entries) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size()) continue;
    values_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
}

std::vector<std::string> Environment::of_process() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

std::optional<std::string> Environment::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

namespace {

template <class Integer>
std::optional<Integer> parse_in(int base, std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<long long> parse_integer(std::string_view text) {
  return parse_in<long long>(10, text);
}

std::optional<long long> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.size() < 2 || digits[0] != '0') return parse_integer(text);
  const bool hexadecimal = digits[1] == 'x' || digits[1] == 'X';
  // Without a sign: from_chars would take one after the base's prefix.
  const auto value =
      parse_in<std::uint32_t>(hexadecimal ? 16 : 8, digits.substr(hexadecimal ? 2 : 1));
  if (!value) return std::nullopt;
  return negative ? -static_cast<long long>(*value) : static_cast<long long>(*value);
}

}  // namespace rondo
