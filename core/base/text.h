// Small text tools for messages and settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// Parts between separators, trimmed of blanks; empty parts are left out. A separator inside
/// parentheses separates nothing.
std::vector<std::string> split(std::string_view text, char separator);
/// What `text` begins with, up to `end`; takes it out of `text`, with the end.
std::string_view take_part(std::string_view& text, char end);
std::string join(std::span<const std::string_view> parts, std::string_view separator);
std::string lower_case(std::string_view text);
/// The candidate that a typing error away from `text` was most likely meant; empty: none is near.
std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates);
/// "rank 2", "ranks 0, 2-4, 7": ascending, runs of three or more shortened.
std::string rank_list(std::vector<int> ranks);

}  // namespace rondo
