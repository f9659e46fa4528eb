#include "bench/common/choices.h"

#include <algorithm>

#include "bench/common/size.h"

namespace rondo::bench {
namespace {

std::string_view chosen(std::string_view description) {
  const std::size_t end = std::min(description.find(" in "), description.find_first_of(":;("));
  return description.substr(0, end);
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
    lines.push_back(range + ": " + choices[first].description);
    first = last + 1;
  }
  return lines;
}

}  // namespace rondo::bench
