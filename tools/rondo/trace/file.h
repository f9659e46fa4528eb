// One rank's trace as it was written; core/trace/write.cc describes the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/clocks.h"
#include "rondo/types.h"

namespace rondo::tool {

struct TracedOp {
  int lane = 0;
  int phase = 0;
  int round = 0;
  int out = -1;             ///< the rank that it sends to, or -1
  std::vector<int> from{};  ///< operands: ranks whose messages it takes, -1 for own memory
};

struct TracedPlan {
  Collective collective = Collective::barrier;
  std::string algorithm{};
  int root = 0;
  int ranks = 1;
  int lanes = 1;
  int chunks = 1;
  std::vector<TracedOp> ops{};
};

struct TracedForm {
  std::size_t plan = 0;
  std::uint64_t count = 0;
  DataType type = DataType::uint8;
  ReduceOperator op = ReduceOperator::sum;
  int peer = -1;  ///< >= 0: a send or receive, and with whom
  bool sends = false;
  std::uint64_t passes = 1;
};

/// An event as in core/trace/event.h.
struct TracedEvent {
  char kind = 'B';
  std::int64_t time = 0;  ///< nanoseconds of the rank's clock
  std::uint64_t call = 0;
  std::uint64_t place = 0;
  std::uint64_t pass = 0;  ///< begin: the sequence
  std::uint64_t bytes = 0;
  std::string mode{};  ///< stepped: one_shot, two_shot or push
};

/// A call on GPU buffers, as in core/trace/stream_log.h. Times are those of the rank's clock.
struct TracedGpuCall {
  std::string way{};
  bool captured = false;
  std::int64_t put = 0;
  std::optional<std::int64_t> begun{};
  std::optional<std::int64_t> completed{};
  Collective collective = Collective::barrier;
  std::uint64_t count = 0;
  DataType type = DataType::uint8;
  int peer = -1;  ///< of a message
  bool sends = false;
};

struct TraceFile {
  std::string path{};
  std::string run{};
  std::string communicator{};
  int rank = 0;
  int ranks = 1;
  std::string host{};
  std::string clock{};
  std::string over{};
  std::vector<trace::Offset> offsets{};
  std::vector<TracedPlan> plans{};
  std::vector<TracedForm> forms{};
  std::vector<TracedEvent> events{};
  std::vector<TracedGpuCall> gpu_calls{};
  std::string failed{};
  std::uint64_t lost_events = 0;
  std::uint64_t lost_calls = 0;
  std::uint64_t lost_gpu_calls = 0;
  bool complete = false;  ///< false: the rank died before it could write more than the head
};

/// Throws Error{invalid_argument} that names the file, the line and what is wrong with it: not a
/// trace, another version, cut off, changed. A killed rank leaves a file with only its head: that
/// is read, and `complete` is false.
TraceFile read_trace(const std::string& path);
/// Reads a text in the same way. `path` is only for error texts.
TraceFile parse_trace(const std::string& text, const std::string& path);

/// The files that the user means: each of `names`, or, if there is no such file, the files NAME.0,
/// NAME.1, ... that a run has left. Throws Error{invalid_argument} if there is neither.
std::vector<std::string> trace_paths(const std::vector<std::string>& names);

}  // namespace rondo::tool
