#include "tools/rondo/trace/chrome.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/rondo/trace/findings.h"
#include "tools/rondo/trace/gpu_calls.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int call_track = 0;
constexpr int wait_track = 1;
constexpr int gpu_track = 2;  ///< and the next ones, where calls of several streams overlap
constexpr int gpu_tracks = 8;
constexpr int first_lane_track = 10;
constexpr int tracks_per_lane = 64;

double in_microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

class ChromeWriter {
 public:
  ChromeWriter(const Timeline& timeline, std::ostream& out) : timeline_(timeline), out_(out) {}

  void write() {
    out_ << R"({"traceEvents":[)";
    for (int rank = 0; rank < timeline_.ranks; ++rank) name_rank(rank);
    for (const TracedCall& call : timeline_.calls) add(call);
    for (const TraceFile& file : timeline_.files) {
      for (const TracedGpuCall& call : file.gpu_calls) add(file.rank, call);
    }
    for (const auto& [track, name] : track_names_)
      event({{"ph", "M"},
             {"name", "thread_name"},
             {"pid", track.first},
             {"tid", track.second},
             {"args", {{"name", name}}}});
    out_ << "],\"displayTimeUnit\":\"ns\"}\n";
  }

 private:
  void event(const Json& json) {
    if (!first_) out_ << ",\n";
    first_ = false;
    out_ << json.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  void name_rank(int rank) {
    const TraceFile& file = timeline_.files[static_cast<std::size_t>(rank)];
    if (file.path.empty()) return;
    event({{"ph", "M"},
           {"name", "process_name"},
           {"pid", rank},
           {"args", {{"name", "rank " + std::to_string(rank) + " on " + file.host}}}});
    event({{"ph", "M"},
           {"name", "process_sort_index"},
           {"pid", rank},
           {"args", {{"sort_index", rank}}}});
    track_names_[{rank, call_track}] = "calls";
    track_names_[{rank, wait_track}] = "waits";
  }

  void slice(int rank, int track, const std::string& name, std::int64_t begin, std::int64_t end,
             Json arguments) {
    event({{"ph", "X"},
           {"name", name},
           {"pid", rank},
           {"tid", track},
           {"ts", in_microseconds(begin)},
           {"dur", in_microseconds(std::max<std::int64_t>(end - begin, 1))},
           {"args", std::move(arguments)}});
  }

  /// The first of some tracks that is free when `begin` comes.
  int free_track(int rank, int track, int tracks, std::int64_t begin, std::int64_t end,
                 const std::string& name) {
    const int last = track + tracks - 1;
    while (track < last && busy_until_[{rank, track}] > begin) ++track;
    busy_until_[{rank, track}] = std::max(end, begin + 1);
    track_names_[{rank, track}] = name;
    return track;
  }
  int track_of(int rank, const Work& work) {
    return free_track(rank, first_lane_track + work.lane * tracks_per_lane, tracks_per_lane,
                      work.begin, work.end, "lane " + std::to_string(work.lane));
  }

  void add(const TracedCall& call) {
    std::map<std::tuple<int, int, std::uint64_t>, int> tracks;  // rank, op, slice
    for (int rank = 0; rank < static_cast<int>(call.ranks.size()); ++rank) {
      const RankCall& own = call.ranks[static_cast<std::size_t>(rank)];
      if (!own.there) continue;
      slice(rank, call_track, call_name(call) + " " + way_name(call), own.begin, own.end,
            {{"call", call.number},
             {"sequence", call.sequence},
             {"bytes", call.bytes()},
             {"ended", own.ended}});
      for (const Work& work : own.work) {
        add_wait(call, rank, work);
        if (work.kind == Work::Kind::leave) continue;
        const int track = track_of(rank, work);
        if (work.kind == Work::Kind::op) tracks[{rank, work.op, work.pass}] = track;
        slice(rank, track, names_.of(call, work), work.begin, work.end,
              {{"call", call.number}, {"slice", work.pass}});
      }
    }
    for (const TracedMessage& message : call.messages)
      add_arrow(message, tracks[{message.from, message.send_op, message.pass}],
                tracks[{message.to, message.receive_op, message.pass}]);
  }

  /// A call whose stream did not tell its begin is shown when it was put into the stream.
  void add(int rank, const TracedGpuCall& call) {
    const std::int64_t begin = call.begun.value_or(call.put);
    const std::int64_t end = call.completed.value_or(begin);
    slice(rank, free_track(rank, gpu_track, gpu_tracks, begin, end, "GPU calls"),
          call_name(call) + " " + call.way, begin, end,
          {{"bytes", bytes_of(call, timeline_.ranks)},
           {"put_us", in_microseconds(call.put)},
           {"captured", call.captured},
           {"ended", call.completed.has_value()}});
  }

  void add_wait(const TracedCall& call, int rank, const Work& work) {
    if (work.waited() <= 0) return;
    const std::string name = work.late < 0 ? "wait" : "wait for rank " + std::to_string(work.late);
    slice(rank, wait_track, name, work.waits, work.begin,
          {{"call", call.number}, {"before", names_.of(call, work)}, {"late_ns", work.late_for}});
  }

  void add_arrow(const TracedMessage& message, int from_track, int to_track) {
    const auto end = [&](const char* phase, int rank, int track, std::int64_t time) {
      Json json{{"ph", phase}, {"cat", "message"}, {"name", "message"},          {"id", arrows_},
                {"pid", rank}, {"tid", track},     {"ts", in_microseconds(time)}};
      if (*phase == 'f') json["bp"] = "e";
      event(json);
    };
    ++arrows_;
    end("s", message.from, from_track, message.begin);
    end("f", message.to, to_track, message.received);
  }

  const Timeline& timeline_;
  WorkNames names_{};
  std::ostream& out_;
  bool first_ = true;
  std::map<std::pair<int, int>, std::int64_t> busy_until_{};
  std::map<std::pair<int, int>, std::string> track_names_{};
  std::size_t arrows_ = 0;
};

}  // namespace

void write_chrome(const Timeline& timeline, std::ostream& out) {
  ChromeWriter(timeline, out).write();
}

}  // namespace rondo::tool
