// A schedule as a page carries it: short enough for 64 ranks in a page of 400 KB.
//
// Ranks whose steps are the same but for rotation share one program, so a ring costs one line:
//
//   @2.0        what follows belongs to phase 2, round 0
//   s1i63       send to the rank 1 further on, from input, the chunk 63 after the rank's own
//   r63o5       receive from the rank 63 further on into output
//   a63i5x0.5   receive_reduce: received first, then input, into scratch slot 0
//   b63i5x0.5   the same with the local operand first
//   m4x0.5o5    reduce 4 scratch slots from slot 0 on
//   c5o5        copy; every chunk may end in *N: a run of N chunks
//
// web/decode.js reads it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/schedule/schedule.h"

namespace rondo::tool {

/// {"programs": ["...", ...], "of": [program of rank 0 lane 0, of rank 0 lane 1, ...],
/// "rotated": ranks and chunks count from the rank's own}.
nlohmann::ordered_json encode_steps(const Schedule& schedule);

}  // namespace rondo::tool
