// What the tests of the pages share.
#pragma once

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

namespace rondo::testing {

/// The text of a page, by its path in the repository.
inline std::string page(const std::string& path) {
  std::ifstream file(RONDO_PAGES "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the page holds the table, between empty lines. If not, prints what it should hold.
inline bool holds(const std::string& path, const std::string& table) {
  const bool found = page(path).find("\n\n" + table + "\n") != std::string::npos;
  if (!found) std::cerr << path << " should hold:\n\n" << table << "\n";
  return found;
}

/// As code in a table; nothing stays nothing.
inline std::string quoted(std::string_view name) {
  return name.empty() ? "" : "`" + std::string(name) + "`";
}

}  // namespace rondo::testing
