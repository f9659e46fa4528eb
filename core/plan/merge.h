// Merging: where ranks reach each other's memory, messages become places. What a rank would send
// unchanged stays where it lies, and the receiver takes it from there:
//
//   rank 1   send 0 input[2]                                           nothing
//   rank 0   {channel 1, input[2], channel 2} -> output[2]      =>     {1's input[2], input[2], 2's
//                                                                       input[2]} -> output[2]
//
// With posted destinations a sum that goes to several ranks is stored to all of their outputs by the
// op that makes it:
//
//   rank 0   {...} -> output[2], send 1 output[2], send 2 ...    =>    {...} -> output[2] of all
//   rank 1   receive 0 -> output[2]                                    nothing
//
// So can any message that the receiver would only put into its output:
//
//   rank 0   input[0] -> output[0], send 1 input[0], ...        =>     input[0] -> output[0] of all
//
// So an algorithm is written once, in algorithms/. The verifier accepts merged programs as well.
//
// Cost of all_reduce           stages   read per rank   written per rank
//   one_shot                   1        P N             N
//   two_shot                   2        2 N             N
//   two_shot, sums posted      1        N               N
// (In the callers' buffers. Copies read and write N more.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Which messages become stores to the receiver's output.
enum class Posted : std::uint8_t {
  none,
  sums,  ///< what the sender adds up
  all    ///< whatever the receiver only puts into its output
};

/// What the ranks' channels offer.
struct Sharing {
  Places places = Places::copies;
  Posted posted = Posted::none;  ///< not with copies
  friend bool operator==(const Sharing&, const Sharing&) = default;
};

/// The merged programs of all ranks. Nothing where a message is made for its channel alone, such as
/// the partial sums of a ring, which no buffer keeps. Pure; O(messages x stages), done once per
/// plan. The result is right where verify() accepts it: an algorithm may need what it sends to stay
/// as it was for longer than a merged program leaves it.
std::optional<std::vector<Program>> merge(const Schedule& schedule, const Sharing& sharing);

}  // namespace rondo
