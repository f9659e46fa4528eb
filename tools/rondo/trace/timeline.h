// A run's traces on one clock: rank 0's, in nanoseconds since the run's first event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/rondo/trace/file.h"

namespace rondo::tool {

/// A span of time in which a rank worked, and the wait before it.
struct Work {
  enum class Kind : std::uint8_t { op, post, first_round, last_round, leave };
  Kind kind = Kind::op;
  int op = -1;  ///< of the rank's own plan
  int lane = 0;
  int phase = 0;
  int round = 0;
  std::uint64_t pass = 0;  ///< slice
  std::int64_t waits = 0;  ///< the time since which the rank did nothing else
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int late = -1;              ///< the rank whose lateness held it up, or -1
  std::int64_t late_for = 0;  ///< how much of the wait went by until that rank was ready

  std::int64_t waited() const { return begin - waits; }
};

/// One slice of one message. Sends and receives match by their place in the channel.
struct TracedMessage {
  int from = 0;
  int to = 0;
  int lane = 0;
  int number = 0;  ///< in its channel and slice: the same as in the schedule
  std::uint64_t pass = 0;
  std::uint64_t bytes = 0;
  std::int64_t begin = 0;     ///< the sender's work begins
  std::int64_t sent = 0;      ///< the sender has handed the slice over
  std::int64_t wanted = 0;    ///< the receiver has nothing else to do
  std::int64_t received = 0;  ///< the receiver's work begins
  std::int64_t settled = 0;   ///< the receiver has put the slice where it belongs
  int send_op = -1;
  int receive_op = -1;
};

struct RankCall {
  bool there = false;  ///< its beginning is known
  bool ended = false;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<Work> work{};  ///< in order of begin

  std::int64_t waited() const;
  std::int64_t late_for(int rank) const;  ///< how long it waited for this rank
};

struct TracedCall {
  std::size_t number = 0;      ///< from 1, in order of begin
  std::uint64_t sequence = 0;  ///< the communicator's; for sends and receives the pair's
  TracedForm form{};           ///< of the lowest rank that has it
  const TracedPlan* plan = nullptr;
  int from = -1;  ///< for a send with its receive
  int to = -1;
  bool direct = false;
  std::string mode{};  ///< direct: one_shot, two_shot, push
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<RankCall> ranks{};
  std::vector<TracedMessage> messages{};
  std::size_t unmatched = 0;  ///< sends or receives whose other side is in no trace

  bool complete() const;  ///< every rank that takes part began and ended it
  std::int64_t took() const { return end - begin; }
  std::uint64_t bytes() const;  ///< of the index space
};

/// How a rank's clock is corrected. Its lead over rank 0's clock is a line through one or two
/// measurements.
struct RankClock {
  bool traced = false;  ///< there is a file
  bool same = true;     ///< it is rank 0's own clock
  bool unknown = false;
  std::vector<trace::Offset> offsets{};

  std::int64_t to_root(std::int64_t time) const;
  std::int64_t uncertainty() const;
};

struct Timeline {
  std::vector<TraceFile> files{};  ///< by rank
  int ranks = 1;
  std::vector<RankClock> clocks{};
  std::vector<TracedCall> calls{};
  /// What is missing or odd, one sentence each. If there are any, the traces are incomplete.
  std::vector<std::string> notes{};
  std::size_t contradictions = 0;  ///< messages there before they were sent, beyond uncertainty

  /// The rank's trace holds events. A killed rank's does not.
  bool tells(int rank) const { return !files[static_cast<std::size_t>(rank)].events.empty(); }
  /// Every rank that takes part and has a trace began and ended the call.
  bool ended(const TracedCall& call) const;
  /// Throws Error{invalid_argument} where there is no such call.
  const TracedCall& call(std::size_t number) const;
  /// The call that took longest, among those that ended() if there are any.
  const TracedCall& slowest() const;
};

/// Throws Error{invalid_argument} for files of different runs, two files of one rank, or no calls.
/// Missing ranks, lost events and ranks that died make notes.
Timeline merge(std::vector<TraceFile> files);

/// "12.3", for tables in microseconds.
std::string microseconds(std::int64_t nanoseconds);
/// "all_reduce", "send 0 to 1".
std::string call_name(const TracedCall& call);
/// "ring", "direct, two_shot".
std::string way_name(const TracedCall& call);

}  // namespace rondo::tool
