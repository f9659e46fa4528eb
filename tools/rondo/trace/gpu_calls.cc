#include "tools/rondo/trace/gpu_calls.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/schedule/collective.h"
#include "core/schedule/layout.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

/// Calls of all ranks that are alike.
struct Kind {
  std::size_t all = 0;
  std::size_t captured = 0;
  std::vector<std::int64_t> took{};     ///< from begin to completion, where both are known
  std::vector<std::int64_t> waiting{};  ///< from the put into the stream to the begin
  std::int64_t slowest = -1;
  int slowest_rank = -1;

  void add(const TracedGpuCall& call, int rank) {
    ++all;
    captured += call.captured ? 1 : 0;
    if (!call.begun) return;
    waiting.push_back(*call.begun - call.put);
    if (!call.completed) return;
    took.push_back(*call.completed - *call.begun);
    if (took.back() <= slowest) return;
    slowest = took.back();
    slowest_rank = rank;
  }
};

std::string median_of(std::vector<std::int64_t> times) {
  if (times.empty()) return "-";
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return microseconds(*middle);
}

std::vector<std::string> row_of(const std::array<std::string, 3>& key, const Kind& kind) {
  const bool known = kind.slowest_rank >= 0;
  return {key[0],
          key[1],
          key[2],
          std::to_string(kind.all),
          median_of(kind.waiting),
          median_of(kind.took),
          known ? microseconds(kind.slowest) : "-",
          known ? std::to_string(kind.slowest_rank) : "-"};
}

}  // namespace

std::string call_name(const TracedGpuCall& call) {
  if (call.peer < 0) return std::string(name(call.collective));
  return (call.sends ? "send to " : "receive from ") + std::to_string(call.peer);
}

std::uint64_t bytes_of(const TracedGpuCall& call, int ranks) {
  const bool vector = call.peer >= 0 || is_vector(call.collective);
  return call.count * size_of(call.type) * (vector ? 1 : static_cast<std::uint64_t>(ranks));
}

std::string gpu_calls_text(const Timeline& timeline) {
  std::map<std::array<std::string, 3>, Kind> kinds;
  std::vector<std::array<std::string, 3>> order;
  std::size_t all = 0;
  std::size_t captured = 0;
  for (const TraceFile& file : timeline.files) {
    for (const TracedGpuCall& call : file.gpu_calls) {
      const double bytes = static_cast<double>(bytes_of(call, timeline.ranks));
      const std::array<std::string, 3> key{call_name(call), bytes_text(bytes), call.way};
      const auto [at, is_new] = kinds.try_emplace(key);
      if (is_new) order.push_back(key);
      at->second.add(call, file.rank);
      ++all;
      captured += call.captured ? 1 : 0;
    }
  }
  if (all == 0) return {};
  Table table(3);
  table.row({"call", "size", "path", "count", "wait us", "median us", "slowest us", "on rank"});
  for (const auto& key : order) table.row(row_of(key, kinds[key]));
  std::string text = "\nOn GPU buffers, " + counted(all, "call") +
                     " of ranks, by the clock of each rank's host; `wait` is from the call until\n"
                     "its stream reached it:\n" +
                     table.text();
  if (captured > 0)
    text += std::to_string(captured) +
            " of them were captured into graphs; replays are not recorded.\n";
  return text;
}

}  // namespace rondo::tool
