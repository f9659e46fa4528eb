// Whether proving a user's schedule takes some seconds and 250 MB at most. A job would seem to hang in
// its first call otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "core/schedule/op.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// What the texts of all ranks and lanes may do: loops run statements without making steps.
inline constexpr std::uint64_t most_statements_in_all = std::uint64_t{1} << 24;

/// Where a text says how many lanes and parts there are; 0: it does not.
struct HeaderLines {
  int lanes = 0;
  int parts = 0;
};

/// "has more than 16384 steps on rank 0, line 5, with 4 ranks, which would take too long to prove"; empty:
/// it would not. Steps that are wrong are the business of verify(). `statements`: how many of
/// most_statements_in_all the schedule's steps have left as they are made.
std::string too_long_to_prove(const Schedule& schedule, const std::uint64_t& statements,
                              const LineOf& line_of, const HeaderLines& lines);

}  // namespace rondo
