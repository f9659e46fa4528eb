#include "tools/rondo/trace/timeline.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/rondo/arguments.h"
#include "tools/rondo/trace/load.h"

namespace rondo::tool {

const TracedCall& Timeline::call(std::size_t number) const {
  if (number < 1 || number > calls.size())
    reject("there is no call " + std::to_string(number) + " in these traces",
           "--call 1 to " + std::to_string(calls.size()));
  return calls[number - 1];
}

const TracedCall& Timeline::slowest() const {
  return *std::max_element(
      calls.begin(), calls.end(), [](const TracedCall& a, const TracedCall& b) {
        return std::pair(a.complete(), a.took()) < std::pair(b.complete(), b.took());
      });
}

Timeline load_timeline(const std::vector<std::string>& names) {
  std::vector<TraceFile> files;
  for (const std::string& path : trace_paths(names)) files.push_back(read_trace(path));
  return merge(std::move(files));
}

std::string microseconds(std::int64_t nanoseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", static_cast<double>(nanoseconds) / 1000);
  return text.data();
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
