// The text form of a schedule: written by people or by to_text(), read by parse_schedule().
//
//   # A comment reaches to the end of its line.
//   collective all_reduce
//   algorithm ring          # a name for people
//   ranks 2                 # needed; also: root R, lanes N, depth N, parts N (default 0, 1, 1, 1)
//   parts 2                 # chunks that each block of the layout is cut into
//   phases reduce-scatter all-gather      # "quoted" where a name has spaces
//
//   rank 0 lane 0           # `lane 0` may be left out; ranks without a section have no steps
//     phase reduce-scatter round 1        # labels what follows; `round 1` keeps the phase
//     send input[1] to 1
//     receive_reduce from 1 then input[0] into output[0]   # or: input[0] then from 1
//     phase all-gather round 1
//     send output[0] to 1
//     receive from 1 into output[1]
//
// Also `copy input[0] into output[0]` and `reduce scratch0..3[5] into output[5]` (slots 0 to 3).
// `input[3..1]` is a run from chunk 3 to chunk 1 that wraps after the last chunk. Rounds count
// from 1 here.
#pragma once

#include <string>
#include <string_view>

#include "core/schedule/schedule.h"

namespace rondo {

std::string to_text(const Schedule& schedule);

/// One step as its line, without label or indentation.
std::string to_text(const Step& step, const Layout& layout);

/// `source` names the text in errors, e.g. a file name. Throws Error{invalid_argument} with line,
/// column and what was expected there. Whether the schedule is right is verify()'s business.
Schedule parse_schedule(std::string_view text, std::string_view source = "schedule");

}  // namespace rondo
