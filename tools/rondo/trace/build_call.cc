// One call on all its ranks: when each rank worked, on what, and which ranks it waited for.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/schedule/layout.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/trace/merge.h"

namespace rondo::tool {
namespace {

using Events = std::vector<const TracedEvent*>;

/// What one rank did, in its own order, on the common clock.
class RankReader {
 public:
  RankReader(const RankClock& clock, const TraceFile& file, RankCall& rank)
      : clock_(clock), file_(file), rank_(rank) {}

  void read(const Events& events, TracedCall& call) {
    ops_ = &file_.plans[file_.forms[events.front()->place].plan].ops;
    for (const TracedEvent* event : events) take(*event, call);
    if (!rank_.ended) rank_.end = last_;
    std::stable_sort(rank_.work.begin(), rank_.work.end(),
                     [](const Work& a, const Work& b) { return a.begin < b.begin; });
    std::int64_t busy_until = rank_.begin;
    for (Work& work : rank_.work) {
      work.waits = std::min(busy_until, work.begin);
      busy_until = std::max(busy_until, work.end);
    }
    if (rank_.ended && !rank_.work.empty() && busy_until < rank_.end)
      rank_.work.push_back(
          {.kind = Work::Kind::leave, .waits = busy_until, .begin = rank_.end, .end = rank_.end});
  }

 private:
  void take(const TracedEvent& event, TracedCall& call) {
    const std::int64_t time = clock_.to_root(event.time);
    last_ = std::max(last_, time);
    switch (event.kind) {
      case 'B':
        rank_.there = true;
        rank_.begin = time;
        break;
      case 'E':
        rank_.ended = true;
        rank_.end = time;
        call.direct = event.place == 1;
        break;
      case 'b':
        open_[{event.place, event.pass}] = time;
        break;
      case 'e':
        end_op(event, time);
        break;
      case 'p':
        rank_.work.push_back({.kind = Work::Kind::post, .begin = time, .end = time});
        break;
      case 's':
        seen_ = time;
        break;
      default:
        step(event, time, call);
    }
  }

  void end_op(const TracedEvent& event, std::int64_t time) {
    if (event.place >= ops_->size())
      reject("'" + file_.path + "' has an event of an op that its plan lacks",
             "copy it again from the machine of its rank, or leave it out");
    const TracedOp& op = (*ops_)[event.place];
    const auto open = open_.find({event.place, event.pass});
    const std::int64_t begin = open == open_.end() ? time : open->second;
    rank_.work.push_back({.kind = Work::Kind::op,
                          .op = static_cast<int>(event.place),
                          .lane = op.lane,
                          .phase = op.phase,
                          .round = op.round,
                          .pass = event.pass,
                          .begin = begin,
                          .end = time});
  }

  /// After its first round a rank waits for the first rounds of the others.
  void step(const TracedEvent& event, std::int64_t time, TracedCall& call) {
    call.mode = event.mode;
    const bool first = event.place == 1;
    const std::int64_t begin = seen_ != 0 ? seen_ : time;
    rank_.work.push_back({.kind = first ? Work::Kind::first_round : Work::Kind::last_round,
                          .begin = begin,
                          .end = time});
    seen_ = 0;
  }

  const RankClock& clock_;
  const TraceFile& file_;
  RankCall& rank_;
  const std::vector<TracedOp>* ops_ = nullptr;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> open_{};
  std::int64_t last_ = 0;
  std::int64_t seen_ = 0;
};

const Work* find_work(const RankCall& rank, Work::Kind kind) {
  const auto same = [&](const Work& work) { return work.kind == kind; };
  const auto found = std::find_if(rank.work.begin(), rank.work.end(), same);
  return found == rank.work.end() ? nullptr : &*found;
}

/// Sends and receives of one channel, in one slice, in the order of the program.
struct Side {
  int rank = 0;
  const Work* work = nullptr;
  std::uint64_t bytes = 0;
};
using Channel = std::tuple<int, int, int, std::uint64_t>;  ///< from, to, lane, slice

class Matcher {
 public:
  explicit Matcher(const Timeline& timeline, CallEvents& events)
      : timeline_(timeline), events_(events), call_(events.call) {}

  std::size_t match() {
    for (int rank = 0; rank < static_cast<int>(call_.ranks.size()); ++rank) collect(rank);
    for (const auto& [channel, sends] : sends_) pair(channel, sends);
    for (const auto& [channel, receives] : receives_) {
      const auto sends = sends_.find(channel);
      const std::size_t other = sends == sends_.end() ? 0 : sends->second.size();
      if (other < receives.size()) call_.unmatched += receives.size() - other;
    }
    std::stable_sort(
        call_.messages.begin(), call_.messages.end(),
        [](const TracedMessage& a, const TracedMessage& b) { return a.begin < b.begin; });
    return contradictions_;
  }

 private:
  void collect(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const RankCall& own = call_.ranks[at];
    if (!own.there) return;
    std::map<std::pair<std::uint64_t, int>, const Work*> by_op;  // slice by slice, in order
    for (const Work& work : own.work)
      if (work.kind == Work::Kind::op) by_op[{work.pass, work.op}] = &work;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> bytes;
    for (const TracedEvent* event : events_.events[at])
      if (event->kind == 'e') bytes[{event->pass, event->place}] = event->bytes;
    const TraceFile& file = timeline_.files[at];
    const TracedForm& form = file.forms[events_.events[at].front()->place];
    const std::vector<TracedOp>& ops = file.plans[form.plan].ops;
    for (const auto& [key, work] : by_op) {
      const TracedOp& op = ops[static_cast<std::size_t>(key.second)];
      const std::uint64_t size = bytes[{key.first, static_cast<std::uint64_t>(key.second)}];
      for (const int peer : op.from)
        if (peer >= 0) receives_[{peer, rank, op.lane, key.first}].push_back({rank, work, size});
      if (op.out >= 0) sends_[{rank, op.out, op.lane, key.first}].push_back({rank, work, size});
    }
  }

  void pair(const Channel& channel, const std::vector<Side>& sends) {
    const auto found = receives_.find(channel);
    const std::size_t there = found == receives_.end() ? 0 : found->second.size();
    if (sends.size() > there) call_.unmatched += sends.size() - there;
    const auto& [from, to, lane, pass] = channel;
    const auto uncertainty = [&](int rank) {
      return timeline_.clocks[static_cast<std::size_t>(rank)].uncertainty();
    };
    for (std::size_t i = 0; i < std::min(sends.size(), there); ++i) {
      const Side& send = sends[i];
      const Side& receive = found->second[i];
      if (receive.work->end + uncertainty(from) + uncertainty(to) < send.work->begin)
        ++contradictions_;
      call_.messages.push_back({.from = from,
                                .to = to,
                                .lane = lane,
                                .number = static_cast<int>(i),
                                .pass = pass,
                                .bytes = send.bytes,
                                .begin = send.work->begin,
                                .sent = send.work->end,
                                .wanted = receive.work->waits,
                                .received = receive.work->begin,
                                .settled = receive.work->end,
                                .send_op = send.work->op,
                                .receive_op = receive.work->op});
    }
  }

  const Timeline& timeline_;
  CallEvents& events_;
  TracedCall& call_;
  std::map<Channel, std::vector<Side>> sends_{};
  std::map<Channel, std::vector<Side>> receives_{};
  std::size_t contradictions_ = 0;
};

/// `rank` was not ready before `since`, so it caused the part of the wait until then.
void blame(Work& work, int rank, std::int64_t since) {
  const std::int64_t late = std::clamp<std::int64_t>(since - work.waits, 0, work.waited());
  if (late <= work.late_for) return;
  work.late = rank;
  work.late_for = late;
}

void blame_senders(TracedCall& call) {
  // A call may have hundreds of thousands of slices, so each is looked up.
  std::vector<std::map<std::pair<std::uint64_t, int>, Work*>> by_op(call.ranks.size());
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank)
    for (Work& work : call.ranks[rank].work)
      if (work.kind == Work::Kind::op) by_op[rank][{work.pass, work.op}] = &work;
  for (const TracedMessage& message : call.messages) {
    const auto& ops = by_op[static_cast<std::size_t>(message.to)];
    const auto received = ops.find({message.pass, message.receive_op});
    if (received != ops.end()) blame(*received->second, message.from, message.sent);
  }
}

/// On the direct path all ranks wait for the posts, then for the first rounds, then for the end.
void blame_posters(TracedCall& call) {
  const auto blame_all = [&](Work& work, std::size_t own, Work::Kind awaited) {
    for (std::size_t peer = 0; peer < call.ranks.size(); ++peer) {
      if (peer == own) continue;
      if (const Work* other = find_work(call.ranks[peer], awaited))
        blame(work, static_cast<int>(peer), other->end);
    }
  };
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
    bool posts_seen = false;
    for (Work& work : call.ranks[rank].work) {
      if (work.kind == Work::Kind::leave) blame_all(work, rank, Work::Kind::last_round);
      if (work.kind != Work::Kind::first_round && work.kind != Work::Kind::last_round) continue;
      blame_all(work, rank, posts_seen ? Work::Kind::first_round : Work::Kind::post);
      posts_seen = true;
    }
  }
}

/// Only the end of a second round is recorded. It begins when the last rank has ended the first.
void begin_second_rounds(TracedCall& call) {
  std::int64_t all_through = 0;
  for (const RankCall& rank : call.ranks)
    if (const Work* first = find_work(rank, Work::Kind::first_round))
      all_through = std::max(all_through, first->end);
  if (all_through == 0) return;
  for (RankCall& rank : call.ranks) {
    const Work* const first = find_work(rank, Work::Kind::first_round);
    if (first == nullptr) continue;
    const std::int64_t own = first->end;
    for (Work& work : rank.work)
      if (work.kind == Work::Kind::last_round) {
        work.waits = own;
        work.begin = std::clamp(all_through, own, work.end);
      }
  }
}

/// Only the end of a call says which path it took. A call that no rank ended took the direct path
/// if there are posts and no messages.
bool waits_directly(const TracedCall& call) {
  bool posted = false;
  for (const RankCall& rank : call.ranks) {
    if (rank.ended || find_work(rank, Work::Kind::op) != nullptr) return call.direct;
    posted |= find_work(rank, Work::Kind::post) != nullptr;
  }
  return posted;
}

}  // namespace

std::size_t build_call(const Timeline& timeline, CallEvents& events) {
  TracedCall& call = events.call;
  call.end = call.begin;
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
    if (events.events[rank].empty()) continue;
    RankReader(timeline.clocks[rank], timeline.files[rank], call.ranks[rank])
        .read(events.events[rank], call);
    call.end = std::max(call.end, call.ranks[rank].end);
  }
  call.direct = waits_directly(call);
  const std::size_t contradictions = Matcher(timeline, events).match();
  blame_senders(call);
  if (call.direct) {
    begin_second_rounds(call);
    blame_posters(call);
  }
  return contradictions;
}

std::int64_t RankCall::waited() const {
  std::int64_t sum = 0;
  for (const Work& each : work) sum += each.waited();
  return sum;
}

std::int64_t RankCall::late_for(int rank) const {
  std::int64_t sum = 0;
  for (const Work& each : work)
    if (each.late == rank) sum += each.late_for;
  return sum;
}

bool TracedCall::complete() const {
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const RankCall& each = ranks[static_cast<std::size_t>(rank)];
    if (from >= 0 && rank != from && rank != to) continue;
    if (!each.there || !each.ended) return false;
  }
  return unmatched == 0;
}

std::uint64_t TracedCall::bytes() const {
  const bool vector = from >= 0 || is_vector(plan->collective);
  return form.count * size_of(form.type) * (vector ? 1 : ranks.size());
}

}  // namespace rondo::tool
