#include "bench/common/choices.h"

#include <algorithm>

#include "bench/common/size.h"

namespace rondo::bench {
namespace {

std::string_view chosen(std::string_view description) {
  const std::size_t end = std::min(description.find(" in "), description.find_first_of(":;("));
  description = description.substr(0, end);
  return description.substr(0, description.find_last_not_of(' ') + 1);
}

/// The description of neighbouring sizes with the same choice. Where their descriptions differ, the
/// part between the choice and its reason is left out.
std::string told(std::span<const Choice> stretch) {
  const std::string& first = stretch.front().description;
  const bool agree = std::all_of(stretch.begin(), stretch.end(),
                                 [&](const Choice& one) { return one.description == first; });
  const std::size_t reason = first.find(" (");
  if (agree || reason == std::string::npos) return first;
  return std::string(chosen(first)).append(first, reason, std::string::npos);
}

}  // namespace

std::vector<std::string> summarize_choices(std::span<const Choice> choices) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < choices.size();) {
    std::size_t last = first;
    while (last + 1 < choices.size() &&
           chosen(choices[last + 1].description) == chosen(choices[first].description)) {
      ++last;
    }
    const std::string from = format_size(choices[first].bytes);
    const std::string range =
        last == first ? from : from + " to " + format_size(choices[last].bytes);
    lines.push_back(range + ": " + told(choices.subspan(first, last - first + 1)));
    first = last + 1;
  }
  return lines;
}

}  // namespace rondo::bench
