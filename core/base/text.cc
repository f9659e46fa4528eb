#include "core/base/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace rondo {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Insertions, deletions and replacements between two words (Wagner and Fischer, one row kept).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && (text[at] != separator || open > 0)) {
      open += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
      continue;
    }
    const auto part = trim(text.substr(begin, at - begin));
    if (!part.empty()) parts.emplace_back(part);
    begin = at + 1;
  }
  return parts;
}

std::string_view take_part(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  std::string text;
  for (const auto part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  return lower;
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 4) + 1;
  for (const auto candidate : candidates) {
    const auto distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    runs.push_back(std::to_string(ranks[i]) +
                   (end - i > 1 ? "-" + std::to_string(ranks[end - 1]) : ""));
    i = end;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += (i > 0 ? ", " : "") + runs[i];
  }
  return text;
}

}  // namespace rondo
