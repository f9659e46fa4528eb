// The text form of a schedule: written by people or by to_text(), read by parse_schedule() where it
// is for one number of ranks, and by parse_script() (script.h) where it is for many.
//
//   # A comment reaches to the end of its line.
//   collective all_reduce
//   algorithm my_ring       # a name
//   ranks 2..64             # needed; or one number, `2..`, `any` (2 or more)
//   parts P                 # chunks that each block of the layout is cut into
//   phases reduce-scatter all-gather      # "quoted" where a name has spaces
//
//   rank r                  # the steps of every rank, whose number is r; `rank 0`: of this one
//     let next = (r+1) % P
//     let before = (r-1) % P
//     for i in 1..P-1
//       phase reduce-scatter round i      # labels what follows; `round 1` keeps the phase
//       send input[(r-1) % P] to next
//       ...
//     end
//
// - Steps: `send input[1] to 1`, `receive from 1 into output[1]`, `copy input[0] into output[0]`,
//   `receive_reduce from 1 then input[0] into output[0]`, `receive_reduce input[0] then from 1 into
//   output[0]`, `reduce scratch0..3[5] into output[5]` (slots 0 to 3).
// - `input[3..1]` is a run from chunk 3 to chunk 1 that wraps after the last chunk. A slot that is
//   no plain number stands in parentheses: `scratch(i+1)[0]`, `scratch0..(P-1)[r]`.
// - Numbers are formulas (formula.h) of P (ranks), root, H (hosts), q = ceil(log2 P), and the names
//   of `rank`, `lane`, `for` and `let`. `let` may give a name a new value.
// - Blocks: `for i in A..B`, and `if CONDITION`, `else`, each to `end`. A loop with B < A is empty.
// - Also in the header: `root R` or `root any`, `lanes N`, `depth N`, `when CONDITION` (for which
//   ranks and hosts it is), `sizes 64K..1M` (for calls of so many bytes).
// - `rank r lane l` has the steps of every lane; without `lane` those of lane 0. Ranks without a
//   section have no steps. Where several sections are a rank's, they follow each other.
// - Rounds count from 1 here.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/schedule/schedule.h"

namespace rondo {

std::string to_text(const Schedule& schedule);
/// The same in pieces of a lane at most: with thousands of ranks the whole would fill the memory.
void write_text(const Schedule& schedule, const std::function<void(const std::string&)>& write);

/// One step as its line, without label or indentation.
std::string to_text(const Step& step, const Layout& layout);

/// The steps of a rank in one lane with their labels, as they stand in a section; empty if there are none.
std::string steps_text(const Schedule& schedule, int rank, int lane);

/// `source` names the text in errors, e.g. a file name. Throws Error{invalid_argument} with line,
/// column and what was expected there, and for a text that is for several numbers of ranks. Whether
/// the schedule is right is verify()'s business.
Schedule parse_schedule(std::string_view text, std::string_view source = "schedule");

}  // namespace rondo
