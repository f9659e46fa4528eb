// `rondo explain --svg`: a schedule as one animated SVG picture, for a README or a slide.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "tools/rondo/explain/hosts.h"

namespace rondo::tool {

/// More ranks than this are too small to read in a picture without controls.
inline constexpr int most_animated_ranks = 16;
inline constexpr int most_animated_chunks = 32;
inline constexpr std::size_t most_animated_messages = 1000;

/// Ranks on a ring or in boxes of their hosts, a bar for each chunk, one moving label for each
/// message, round by round, in a loop. The picture is animated by CSS alone: no script, nothing from
/// outside, and the same text for the same schedule. Throws Error{invalid_argument} for a wrong
/// schedule, one in which nothing moves, and one with more ranks, chunks or messages than the limits
/// above.
std::string animation_svg(const Schedule& schedule, const std::vector<ShownHost>& hosts);

}  // namespace rondo::tool
