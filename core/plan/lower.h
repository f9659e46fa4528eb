// Lowering: one rank's steps become a Program of fused ops. Receive-reduce-send (the partial sum
// never touches scratch):
//
//   receive_reduce 3 input[2] -> scratch[2]
//   send           1 scratch[2]              =>  {channel 3, input[2]} -> channel 1
//
// One pass over all operands, rounded once:
//
//   receive p -> scratch<p>[0], for every p
//   reduce scratch<0..P-1>[0] -> output[0]   =>  {channel 0, input[0], channel 2, ...} -> output[0]
//
// - Fusion keeps the operands and their order (the result's bits), and the order of messages on
//   every channel.
// - Its cost: a fused op holds a message until it may send. So channels must be two messages deep
//   where one was enough. verify() takes the lowered form and proves it.
#pragma once

#include <cstdint>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Which steps become one op. Messages are the same in any case, so ranks need not agree on it.
enum class Fusion : std::uint8_t {
  full,
  sends_from_place,  ///< channels send from the caller's memory: what is kept there is sent from there
  none
};

/// Pure; O(chunks in the steps), but where many steps write overlapping runs. Done once per plan. Throws
/// Error{internal} when the schedule breaks a rule of the schedule language (e.g. operands of different
/// extents).
Program lower(const Schedule& schedule, int rank, Fusion fusion = Fusion::full);

}  // namespace rondo
