#include "tools/rondo/trace/timeline.h"

#include <algorithm>

#include "tools/rondo/arguments.h"
#include "tools/rondo/format.h"
#include "tools/rondo/trace/load.h"

namespace rondo::tool {

const TracedCall& Timeline::call(std::size_t number) const {
  if (calls.empty())
    reject("these traces hold only calls on GPU buffers, which have no steps to show",
           "leave out --call: the summary shows them");
  if (number < 1 || number > calls.size())
    reject("there is no call " + std::to_string(number) + " in these traces",
           "--call 1 to " + std::to_string(calls.size()));
  return calls[number - 1];
}

const TracedCall& Timeline::slowest() const {
  return *std::max_element(calls.begin(), calls.end(),
                           [this](const TracedCall& a, const TracedCall& b) {
                             return std::pair(ended(a), a.took()) < std::pair(ended(b), b.took());
                           });
}

bool Timeline::ended(const TracedCall& call) const {
  bool all_tell = true;
  for (int rank = 0; rank < ranks; ++rank) {
    if (call.from >= 0 && rank != call.from && rank != call.to) continue;
    const RankCall& each = call.ranks[static_cast<std::size_t>(rank)];
    all_tell = all_tell && tells(rank);
    if (tells(rank) && (!each.there || !each.ended)) return false;
  }
  // Where a rank's trace is missing, its sends and receives have no other side.
  return !all_tell || call.unmatched == 0;
}

Timeline load_timeline(const std::vector<std::string>& names) {
  std::vector<TraceFile> files;
  for (const std::string& path : trace_paths(names)) files.push_back(read_trace(path));
  return merge(std::move(files));
}

std::string microseconds(std::int64_t nanoseconds) {
  return format("%.1f", static_cast<double>(nanoseconds) / 1000);
}

std::string call_name(const TracedCall& call) {
  if (call.from >= 0) return "send " + std::to_string(call.from) + " to " + std::to_string(call.to);
  return std::string(name(call.plan->collective));
}

std::string way_name(const TracedCall& call) {
  if (call.direct) return "direct" + (call.mode.empty() ? "" : ", " + call.mode);
  if (call.from >= 0) return "message";
  return call.plan->algorithm;
}

}  // namespace rondo::tool
