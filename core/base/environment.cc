#include "core/base/environment.h"

#include <unistd.h>

#include <charconv>

namespace rondo {

Environment::Environment(std::span<const std::string> entries) {
  for (const auto& entry : entries) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals + 1 == entry.size()) continue;
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

std::optional<long long> parse_integer(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rondo
