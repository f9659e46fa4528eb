// The process's environment as a value, so that tests can make one up.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

class Environment {
 public:
  explicit Environment(std::span<const std::string> entries);
  /// This process's, as "NAME=VALUE".
  static std::vector<std::string> of_process();

  /// Empty values count as unset.
  std::optional<std::string> find(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Decimal, nothing else around it. std::nullopt where the text is anything else or out of range.
std::optional<long long> parse_integer(std::string_view text);
/// The same as C writes numbers: 0x6a is hexadecimal, 0152 octal.
std::optional<long long> parse_number(std::string_view text);

}  // namespace rondo
