#include "tools/rondo/format.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "rondo/error.h"

namespace rondo::tool {
namespace {

/// `whole` is how bytes without a larger unit are written.
std::string in_units(double bytes, bool scaled, const char* whole, std::string_view between) {
  static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; scaled && bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return format(unit == 0 ? whole : "%.4g", bytes) + std::string(between) +
         std::string(units[unit]);
}

}  // namespace

[[noreturn]] void reject(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 ||
           std::string_view("_-+=.,:/%@").find(each) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char each : word) text += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return text + "'";
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char each : text) {
    const std::size_t at = std::string_view("<>&\"").find(each);
    constexpr std::array names{"&lt;", "&gt;", "&amp;", "&quot;"};
    if (at == std::string_view::npos)
      safe += each;
    else
      safe += names[at];
  }
  return safe;
}

std::string number_text(double value) { return format("%.4g", value); }

std::string size_text(double bytes, std::string_view between) {
  constexpr double exact = 1e5;
  return in_units(bytes, bytes >= exact, "%.6g", between);
}

std::string bytes_text(double bytes) { return in_units(bytes, true, "%.4g", " "); }

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string ended_line(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string ranks_text(const std::vector<int>& ranks, std::string_view between) {
  std::string words;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!words.empty()) words += between;
    words += std::to_string(ranks[i]);
    if (end - i > 1) words += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return words;
}

std::string wrapped(const std::string& first, const std::vector<std::string>& words,
                    std::size_t indent, std::size_t width) {
  std::string text = first;
  std::size_t column = first.size();
  for (const std::string& word : words) {
    if (column + 1 + word.size() > width && column > indent) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      text += " ";
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + "\n";
}

}  // namespace rondo::tool
