// How far a rank's clock is from rank 0's, from meetings of all ranks.
//
//   rank 0   ---- root_sent ---------------------- root_received ---->
//                            \                 /
//   meeting                    everybody is here
//                            /                 \.
//   rank r   -------- sent ------------------------- received ------->
//
// No rank leaves a meeting before every rank has come. So received is not earlier than root_sent,
// and sent not later than root_received. These two bounds of the offset hold whatever the network
// did. The estimate is their middle. Half their distance is its uncertainty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rondo::trace {

/// One meeting; nanoseconds, each of its own rank's clock.
struct Meeting {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t root_sent = 0;
  std::int64_t root_received = 0;
};

struct Offset {
  std::int64_t at = 0;           ///< of this rank's clock
  std::int64_t ahead = 0;        ///< this rank's clock less rank 0's
  std::int64_t uncertainty = 0;  ///< the truth is within so much of it, either way

  friend bool operator==(const Offset&, const Offset&) = default;
};

/// Pure. The tightest bounds that all meetings leave; they must be close enough in time for drift
/// not to matter. std::nullopt where there is no meeting, or where they contradict each other.
std::optional<Offset> estimate(std::span<const Meeting> meetings);

}  // namespace rondo::trace
