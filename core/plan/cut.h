// How messages are cut into frames, so that no wire waits for a processor.
//
// A frame is passed on, or added to, when all of it has arrived. Over a wire that is slower than
// the processors three things follow:
//
// - In a tree or chain the first frame takes its whole time at every hop. So frames are short
//   there.
// - In a ring a channel carries this pass's next message before the next pass's first one, which
//   waits for frames to come back. So two passes are interleaved: one is on the wire while the
//   other is added up.
// - Where a rank sends to several peers in turn, ranks get out of step: two send to one rank while
//   the link of another one has nothing to carry. So many passes are interleaved, and every link
//   has something in its queue.
//
// Short frames cost processors more time, and on faster links that decides: so rings have longer
// ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/schedule/schedule.h"

namespace rondo {

/// How messages may be cut: equal on all ranks, or they would cut them differently.
struct Cut {
  std::size_t frame_bytes = 0;    ///< of the longest frame, at most the least slot of all channels
  std::uint32_t interleaved = 1;  ///< passes that go side by side, at most
  std::size_t worth_bytes = 0;    ///< no frame is shorter for the sake of going side by side
};

/// What the passes of a schedule wait for.
enum class Flow : std::uint8_t {
  exchange,  ///< ranks send nothing but their own input; or two streams share a channel already
  stream,    ///< also what came; no channel carries more than one message a pass
  ring,      ///< channels carry several, and each lane of a rank sends to one peer only
  rounds     ///< and to several in turn
};

/// The same on every rank. O(all ranks' steps), done once per plan.
Flow flow_of(const Schedule& schedule);

/// Frames of each pass that a channel has to hold: what lowering asks for, see Program::depth.
inline constexpr std::size_t depth_of_a_pass = 2;

inline constexpr std::size_t shortest_frame_bytes = std::size_t{32} << 10;

/// Over wires. `short_frames`: frames of shortest_frame_bytes that channels hold, the least of all
/// ranks', see Transport::depth_of().
Cut cut_for_wires(Flow flow, std::size_t frame_bytes, int short_frames);

}  // namespace rondo
