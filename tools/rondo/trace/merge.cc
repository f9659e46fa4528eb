// Makes a Timeline from files: it finds what belongs together, and whether it can.
#include "tools/rondo/trace/merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/schedule/collective.h"
#include "core/schedule/layout.h"
#include "tools/rondo/arguments.h"

namespace rondo::tool {
namespace {

constexpr std::size_t most_named = 8;

std::string ranks_words(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i)
    words += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return words + (ranks.size() > most_named ? ", ..." : "");
}

void check_run(const std::vector<TraceFile>& files) {
  if (files.empty()) reject("no trace is given", "rondo trace FILE...");
  std::map<int, const TraceFile*> by_rank;
  for (const TraceFile& file : files) {
    const TraceFile& first = files.front();
    if (file.run != first.run || file.ranks != first.ranks)
      reject("'" + file.path + "' is of another run than '" + first.path + "'",
             "only files of one run and one communicator");
    const auto [at, is_new] = by_rank.emplace(file.rank, &file);
    if (!is_new)
      reject("'" + file.path + "' and '" + at->second->path + "' are both of rank " +
                 std::to_string(file.rank),
             "one file for each rank");
  }
}

/// The files by rank, with empty ones for ranks that are missing.
std::vector<TraceFile> by_rank(std::vector<TraceFile> files) {
  const int ranks = files.front().ranks;
  std::vector<TraceFile> sorted(static_cast<std::size_t>(ranks));
  for (TraceFile& file : files) {
    const auto rank = static_cast<std::size_t>(file.rank);
    sorted[rank] = std::move(file);
  }
  return sorted;
}

void set_clocks(Timeline& timeline) {
  std::string root;
  for (const TraceFile& file : timeline.files) {
    RankClock& clock = timeline.clocks.emplace_back();
    clock.traced = !file.path.empty();
    if (!clock.traced) continue;
    if (root.empty() && (file.rank == 0 || file.offsets.empty())) root = file.clock;
    clock.same = file.clock == root;
    clock.offsets = file.offsets;
    clock.unknown = !clock.same && file.offsets.empty();
  }
}

void note_ranks(Timeline& timeline) {
  std::vector<int> missing;
  std::vector<int> died;
  std::vector<int> apart;
  for (int rank = 0; rank < timeline.ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const TraceFile& file = timeline.files[at];
    if (file.path.empty())
      missing.push_back(rank);
    else if (!file.complete)
      died.push_back(rank);
    if (timeline.clocks[at].unknown) apart.push_back(rank);
  }
  auto& notes = timeline.notes;
  if (!missing.empty())
    notes.push_back("There is no trace of " + ranks_words(missing) + " of " +
                    std::to_string(timeline.ranks) + ": their part is missing.");
  if (!died.empty())
    notes.push_back("The traces of " + ranks_words(died) +
                    " are empty: the ranks were killed, or still ran, before they could write.");
  if (!apart.empty())
    notes.push_back("The clocks of " + ranks_words(apart) +
                    " were never compared with rank 0's: times between them mean nothing.");
}

void note_losses(Timeline& timeline) {
  for (const TraceFile& file : timeline.files) {
    if (file.path.empty()) continue;
    const std::string who = "Rank " + std::to_string(file.rank);
    if (file.lost_events > 0)
      timeline.notes.push_back(who + " lost its oldest " + std::to_string(file.lost_events) +
                               " events: raise RONDO_TRACE_LIMIT to keep them.");
    if (file.lost_gpu_calls > 0)
      timeline.notes.push_back(who + " lost its oldest " + std::to_string(file.lost_gpu_calls) +
                               " calls on GPU buffers: raise RONDO_TRACE_LIMIT to keep them.");
    if (file.lost_calls > 0)
      timeline.notes.push_back(who + " left out " + std::to_string(file.lost_calls) +
                               " calls: too many different sizes.");
    if (!file.failed.empty()) timeline.notes.push_back(who + " failed: " + file.failed);
  }
}

/// Events of several ranks with the same key are one call. Collectives are told apart by sequence,
/// messages also by their pair of ranks. Ranks that disagree about the collective, so that a run
/// fails, made several calls.
using Key = std::tuple<int, int, std::uint64_t, Collective>;

Key key_of(const TraceFile& file, const TracedForm& form, std::uint64_t sequence) {
  const Collective collective = file.plans[form.plan].collective;
  if (form.peer < 0) return {-1, -1, sequence, collective};
  return form.sends ? Key{file.rank, form.peer, sequence, collective}
                    : Key{form.peer, file.rank, sequence, collective};
}

/// Hands every event to the call that it belongs to.
class Collector {
 public:
  explicit Collector(Timeline& timeline) : timeline_(timeline) {}

  std::vector<CallEvents> take() {
    for (const TraceFile& file : timeline_.files) add(file);
    std::vector<CallEvents> all;
    for (auto& [key, call] : calls_) all.push_back(std::move(call));
    std::stable_sort(all.begin(), all.end(), [](const CallEvents& a, const CallEvents& b) {
      return a.call.begin < b.call.begin;
    });
    return all;
  }

 private:
  void add(const TraceFile& file) {
    std::map<std::uint64_t, CallEvents*> own;  // by the rank's own number
    for (const TracedEvent& event : file.events) {
      if (event.kind == 'B') own[event.call] = &begin(file, event);
      const auto at = own.find(event.call);
      if (at == own.end()) continue;  // its beginning was overwritten
      at->second->events[static_cast<std::size_t>(file.rank)].push_back(&event);
    }
  }

  CallEvents& begin(const TraceFile& file, const TracedEvent& event) {
    const TracedForm& form = file.forms[event.place];
    CallEvents& found = calls_[key_of(file, form, event.pass)];
    const std::int64_t time =
        timeline_.clocks[static_cast<std::size_t>(file.rank)].to_root(event.time);
    TracedCall& call = found.call;
    if (call.plan == nullptr) {
      call.sequence = event.pass;
      call.form = form;
      call.plan = &file.plans[form.plan];
      call.ranks.resize(static_cast<std::size_t>(timeline_.ranks));
      found.events.resize(call.ranks.size());
      call.begin = time;
      if (form.peer >= 0) {
        call.from = form.sends ? file.rank : form.peer;
        call.to = form.sends ? form.peer : file.rank;
      }
    }
    call.begin = std::min(call.begin, time);
    return found;
  }

  Timeline& timeline_;
  std::map<Key, CallEvents> calls_{};
};

/// Puts the times of GPU calls on rank 0's clock.
void place_gpu_calls(Timeline& timeline) {
  for (TraceFile& file : timeline.files) {
    const RankClock& clock = timeline.clocks[static_cast<std::size_t>(file.rank)];
    for (TracedGpuCall& call : file.gpu_calls) {
      call.put = clock.to_root(call.put);
      if (call.begun) call.begun = clock.to_root(*call.begun);
      if (call.completed) call.completed = clock.to_root(*call.completed);
    }
  }
}

std::int64_t first_time(const Timeline& timeline) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  if (!timeline.calls.empty()) first = timeline.calls.front().begin;
  for (const TraceFile& file : timeline.files) {
    for (const TracedGpuCall& call : file.gpu_calls) first = std::min(first, call.put);
  }
  return first;
}

/// Makes times count from the first event that is left.
void shift_to_zero(Timeline& timeline) {
  const std::int64_t zero = first_time(timeline);
  const auto shift = [&](std::int64_t& time) { time -= zero; };
  for (TraceFile& file : timeline.files) {
    for (TracedGpuCall& call : file.gpu_calls) {
      shift(call.put);
      if (call.begun) shift(*call.begun);
      if (call.completed) shift(*call.completed);
    }
  }
  for (TracedCall& call : timeline.calls) {
    shift(call.begin);
    shift(call.end);
    for (RankCall& rank : call.ranks) {
      shift(rank.begin);
      shift(rank.end);
      for (Work& work : rank.work) {
        shift(work.waits);
        shift(work.begin);
        shift(work.end);
      }
    }
    for (TracedMessage& message : call.messages)
      for (std::int64_t* time :
           {&message.begin, &message.sent, &message.wanted, &message.received, &message.settled})
        shift(*time);
  }
}

void note_calls(Timeline& timeline) {
  std::size_t unfinished = 0;
  std::size_t unmatched = 0;
  for (const TracedCall& call : timeline.calls) {
    unfinished += timeline.ended(call) ? 0 : 1;
    unmatched += call.unmatched;
  }
  const auto say = [&](std::size_t count, const char* thing, const char* what) {
    if (count == 0) return;
    timeline.notes.push_back(std::to_string(count) + " " + thing + (count == 1 ? " " : "s ") +
                             what);
  };
  say(unfinished, "call", "did not end on every rank that took part and left a trace.");
  say(unmatched, "message", "appear in the trace of one side only.");
  say(timeline.contradictions, "message",
      "arrived before they were sent, by more than the clocks can be off: a clock was set, or "
      "drifted.");
}

}  // namespace

Timeline merge(std::vector<TraceFile> files) {
  check_run(files);
  Timeline timeline;
  timeline.ranks = files.front().ranks;
  timeline.files = by_rank(std::move(files));
  set_clocks(timeline);
  note_ranks(timeline);
  note_losses(timeline);
  for (CallEvents& call : Collector(timeline).take()) {
    call.call.number = timeline.calls.size() + 1;
    timeline.contradictions += build_call(timeline, call);
    timeline.calls.push_back(std::move(call.call));
  }
  place_gpu_calls(timeline);
  const bool gpus = std::ranges::any_of(
      timeline.files, [](const TraceFile& file) { return !file.gpu_calls.empty(); });
  if (timeline.calls.empty() && !gpus)
    reject("these traces hold no calls" +
               (timeline.notes.empty() ? "" : ". " + timeline.notes.front()),
           "trace a run that makes calls and finalizes its communicators");
  shift_to_zero(timeline);
  note_calls(timeline);
  return timeline;
}

}  // namespace rondo::tool
