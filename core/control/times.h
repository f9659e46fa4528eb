// How long the control plane waits for what. README.md of this folder says more.
//
// A limit that the machine's standing still must not use up is counted by AwakeClock.
#pragma once

#include <chrono>

namespace rondo::control::times {

using std::chrono::milliseconds;

/// Between two tries to reach the coordinator.
inline constexpr milliseconds between_tries{50};
/// After a rank's sudden death the others are notified, if none of them asks before: what it sent
/// last may complete their calls.
inline constexpr milliseconds grace{100};
/// After a failed bootstrap, for ranks that are between two tries to hear of it.
inline constexpr milliseconds afterword{200};
/// For a rank that waits to say so again, which it does once a second.
inline constexpr milliseconds of_stall{2500};
/// For all ranks to say which calls they are in.
inline constexpr milliseconds for_reports{800};
/// For goodbyes to arrive.
inline constexpr milliseconds farewell{1000};
/// For one address of several to answer.
inline constexpr milliseconds for_address{3000};
/// For the coordinator to take a rank back whose connection broke.
inline constexpr milliseconds for_return{3000};
/// For the coordinator to judge a report. It is more than a diagnosis takes.
inline constexpr milliseconds for_verdict{3000};
/// For ranks of other processes to leave before their coordinator does.
inline constexpr milliseconds linger{3000};
/// For the coordinator to say which ranks it waits for, after a deadline.
inline constexpr milliseconds for_answer{5000};
/// For a machine to answer at all, in a takeover.
inline constexpr milliseconds for_machine{10'000};
/// For a rank that lives to notice that its connection broke, or that the coordinator is lost: on a
/// path that breaks, both ends notice at different times.
inline constexpr milliseconds for_rank{30'000};
/// For another rank to serve, and to welcome this one.
inline constexpr milliseconds for_successor{for_machine + for_rank};
/// For everything between the break of a path to the coordinator and the end of a takeover.
inline constexpr milliseconds for_takeover{120'000};

}  // namespace rondo::control::times
