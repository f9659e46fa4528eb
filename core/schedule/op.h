// A semantic Step in its general form: an Op with its operands (see program.h).
//
//   send            {local}          -> out channel
//   receive         {channel}        -> into
//   receive_reduce  {channel, local} -> into      or {local, channel}, as the step's order says
//   reduce          {local x k}      -> into
//   copy            {local}          -> into
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Fills `operands` (its capacity is reused) and returns the op that works on them, with
/// first_operand 0.
Op to_op(const Step& step, int lane, std::vector<Operand>& operands);

/// Why an op cannot be run under the schedule's header (a peer or chunk out of range, no operand,
/// lengths that differ, ...); empty when it can.
std::string defect(const Schedule& header, int rank, const Op& op,
                   std::span<const Operand> operands);

/// "input 3", "scratch slot 2 chunks 5 to 1 (4 chunks)", for messages.
std::string text(const Chunk& chunk, const Layout& layout);

/// "reduce-scatter round 2", or "round 2" where the schedule names no phases. Rounds count from 1
/// here as people count them.
std::string phase_text(const Schedule& header, int phase, std::uint32_t round);

/// The line of a text that a rank's step is from, so that errors name it. Null where there is no text.
using LineOf = std::function<int(int rank, int lane, std::uint64_t step)>;

/// ", line 12"; empty where there is no text.
std::string line_text(const LineOf& line_of, int rank, int lane, std::uint64_t step);

/// "rank 1 lane 0 step 2 (all-gather round 2, line 12): ", what sentences about a step begin with.
std::string step_text(const Schedule& header, const LineOf& line_of, int rank, int lane,
                      std::uint64_t step, const Op& op);

}  // namespace rondo
