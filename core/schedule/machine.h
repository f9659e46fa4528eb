// The stepping loop: runs the ops of all ranks and lanes over a Domain. Verifier, reference,
// simulator and explainer are Domains of this one loop, so they cannot drift apart.
//
//   channel (from, to, lane): a FIFO of at most `depth` messages
//   cursor  (rank, lane):     runs its ops in order; an op runs once every channel operand has a
//                             message and the out channel has room
//
// Event-driven: a cursor that must wait is woken by the op that ends its wait, so the work is
// proportional to the steps. A Domain supplies
//
//   Value                                         the content of a message: as many chunks as the
//                                                 op's extent
//   Value read(site, chunk)                       a local operand
//   Value arrive(site, peer, Value)               a message taken from a channel
//   Value combine(site, span<Value>)              two operands or more, from left to right
//   void  write(site, chunk, const Value&)
//   Value depart(site, peer, Value)               a message that goes onto a channel
//
// and, where a peer's memory shows something else than the peer itself would read there:
//
//   Value read_place(site, peer, chunk)           an operand in a peer's memory
//
// and, where time matters:
//
//   double arrival(const Value&)                  when a message arrived
//   double start(site, arrived)                   when the op could start, given when its last
//                                                 message arrived
//
// Then the ops that can run do so in order of start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/schedule/source.h"

namespace rondo {

/// Where the loop is: handed to every hook of a Domain.
struct Site {
  int rank = 0;
  int lane = 0;
  std::uint64_t index = 0;  ///< of the step in its lane, or of the op in its program
  const Op* op = nullptr;
};

/// What a cursor that cannot go on waits for.
struct Blocked {
  enum class On : std::uint8_t { message, room, dependency };
  int rank = 0;
  int lane = 0;
  On on = On::message;
  int peer = -1;  ///< the sender or receiver waited for; -1 for a dependency
  bool peer_ended = false;
  std::uint64_t index = 0;
  int phase = 0;
  std::uint32_t round = 0;
};

struct LeftOver {
  int from = 0;
  int to = 0;
  int lane = 0;
  std::size_t messages = 0;
};

/// How a run ended. Completed means every lane ran to its end; messages may still be left over.
struct Outcome {
  bool completed = true;
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;
  std::vector<Blocked> blocked{};
  std::vector<LeftOver> left_over{};

  bool clean() const { return completed && left_over.empty(); }
};

/// One sentence per problem of the outcome: the wait cycle or the blocked ranks, the messages left
/// over. Empty when the outcome is clean.
std::vector<std::string> describe(const Outcome& outcome, const Schedule& header,
                                  const LineOf& line_of = {});

template <class Domain>
concept Timed = requires(Domain& domain, const typename Domain::Value& value) {
  domain.arrival(value);
  domain.start(Site{}, 0.0);
};

/// Single use. Source: ScheduleSource, ProgramSource, or anything with their members.
template <class Source, class Domain>
class Machine {
 public:
  using Value = typename Domain::Value;

  Machine(Source& source, Domain& domain)
      : source_(source),
        domain_(domain),
        header_(source.header()),
        cursors_(static_cast<std::size_t>(header_.ranks) *
                 static_cast<std::size_t>(header_.lanes)) {}

  Outcome run() {
    for (std::size_t i = cursors_.size(); i-- > 0;) woken_.push_back(i);
    for (;;) {
      prepare_woken();
      if (ready_.empty()) break;
      const auto [start, id] = ready_.top();
      ready_.pop();
      if (postponed(start, id)) continue;
      fire(id);
      woken_.push_back(id);
    }
    finish();
    return std::move(outcome_);
  }

 private:
  struct Cursor {
    Move move{};
    double arrived = 0;  ///< when the last message of the op's operands came
    std::uint32_t operands_ready = 0;
    bool loaded = false;
    bool ended = false;
    bool held = false;  ///< waits for an op of another lane
    Blocked::On on = Blocked::On::message;
    int peer = -1;
  };

  struct Channel {
    std::vector<Value> queue{};
    std::size_t head = 0;
    bool receiver_waits = false;
    bool sender_waits = false;

    std::size_t size() const { return queue.size() - head; }
    Value pop() {
      Value value = std::move(queue[head++]);
      if (head == queue.size()) {
        queue.clear();
        head = 0;
      } else if (head > 16 && head * 2 > queue.size()) {
        queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
        head = 0;
      }
      return value;
    }
  };

  struct Later {
    bool operator()(const std::pair<double, std::size_t>& a,
                    const std::pair<double, std::size_t>& b) const {
      return a > b;
    }
  };

  int rank_of(std::size_t id) const {
    return static_cast<int>(id / static_cast<std::size_t>(header_.lanes));
  }
  int lane_of(std::size_t id) const {
    return static_cast<int>(id % static_cast<std::size_t>(header_.lanes));
  }
  std::size_t cursor_id(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(header_.lanes) +
           static_cast<std::size_t>(lane);
  }
  std::uint64_t key(int from, int to, int lane) const {
    return static_cast<std::uint64_t>(cursor_id(from, lane)) *
               static_cast<std::uint64_t>(header_.ranks) +
           static_cast<std::uint64_t>(to);
  }

  void prepare_woken() {
    while (!woken_.empty()) {
      const std::size_t id = woken_.back();
      woken_.pop_back();
      if (prepare(id)) ready_.push({start_of(id), id});
    }
  }

  double start_of(std::size_t id) {
    if constexpr (Timed<Domain>) {
      const Cursor& cursor = cursors_[id];
      return domain_.start(Site{rank_of(id), lane_of(id), cursor.move.index, cursor.move.op},
                           cursor.arrived);
    } else {
      return 0;
    }
  }

  /// An op that ran since may have taken what this one needs: then it waits for its new turn.
  bool postponed(double start, std::size_t id) {
    const double now = start_of(id);
    if (now <= start) return false;
    ready_.push({now, id});
    return true;
  }

  /// True when the cursor's next op can run; otherwise notes what it waits for.
  bool prepare(std::size_t id) {
    Cursor& cursor = cursors_[id];
    const int rank = rank_of(id);
    const int lane = lane_of(id);
    if (!cursor.loaded) {
      if (cursor.ended || !source_.next(rank, lane, cursor.move)) {
        cursor.ended = true;
        return false;
      }
      cursor.loaded = true;
      cursor.operands_ready = 0;
      cursor.arrived = 0;
    }
    return messages_there(cursor, rank, lane) && room_there(cursor, rank, lane) &&
           dependencies_done(cursor, rank);
  }

  bool messages_there(Cursor& cursor, int rank, int lane) {
    for (; cursor.operands_ready < cursor.move.operands.size(); ++cursor.operands_ready) {
      const Operand& operand = cursor.move.operands[cursor.operands_ready];
      if (!operand.is_channel()) continue;
      Channel& channel = channels_[key(operand.peer, rank, lane)];
      if (channel.size() == 0) {
        channel.receiver_waits = true;
        cursor.on = Blocked::On::message;
        cursor.peer = operand.peer;
        return false;
      }
      if constexpr (Timed<Domain>)
        cursor.arrived = std::max(cursor.arrived, domain_.arrival(channel.queue[channel.head]));
    }
    return true;
  }

  bool room_there(Cursor& cursor, int rank, int lane) {
    const int peer = cursor.move.op->out_peer;
    if (peer < 0) return true;
    Channel& channel = channels_[key(rank, peer, lane)];
    if (channel.size() < static_cast<std::size_t>(header_.depth)) return true;
    channel.sender_waits = true;
    cursor.on = Blocked::On::room;
    cursor.peer = peer;
    return false;
  }

  bool dependencies_done(Cursor& cursor, int rank) {
    cursor.held = !source_.may_run(rank, cursor.move);
    if (!cursor.held) return true;
    cursor.on = Blocked::On::dependency;
    cursor.peer = -1;
    return false;
  }

  void fire(std::size_t id) {
    Cursor& cursor = cursors_[id];
    const Op& op = *cursor.move.op;
    const Site site{rank_of(id), lane_of(id), cursor.move.index, &op};
    operands_.clear();
    for (const Operand& operand : cursor.move.operands) operands_.push_back(value(site, operand));
    Value result = operands_.size() == 1 ? std::move(operands_.front())
                                         : domain_.combine(site, std::span<Value>(operands_));
    if (op.writes) domain_.write(site, op.into, result);
    for (const std::int32_t peer : source_.stores(site.rank, cursor.move))
      domain_.write(Site{peer, site.lane, site.index, site.op}, op.into, result);
    if (op.out_peer >= 0) put(site, op.out_peer, std::move(result));
    source_.done(site.rank, cursor.move);
    cursor.loaded = false;
    ++outcome_.ops;
    wake_dependents(site);
  }

  Value value(const Site& site, const Operand& operand) {
    if (operand.is_local()) return domain_.read(site, operand.chunk);
    if (operand.is_channel()) return take(site, operand.peer);
    if constexpr (requires { domain_.read_place(site, operand.peer, operand.chunk); }) {
      return domain_.read_place(site, operand.peer, operand.chunk);
    } else {
      return domain_.read(Site{operand.peer, site.lane, site.index, site.op}, operand.chunk);
    }
  }

  Value take(const Site& site, int peer) {
    const auto found = channels_.find(key(peer, site.rank, site.lane));
    if (found == channels_.end() || found->second.size() == 0) two_messages(site, peer);
    Channel& channel = found->second;
    Value value = channel.pop();
    if (channel.sender_waits) {
      channel.sender_waits = false;
      woken_.push_back(cursor_id(peer, site.lane));
    } else if (channel.size() == 0 && channels_.size() > 8 * cursors_.size()) {
      channels_.erase(found);  // all-to-all patterns: memory follows the channels in use
    }
    return domain_.arrive(site, peer, std::move(value));
  }

  void put(const Site& site, int peer, Value&& value) {
    Channel& channel = channels_[key(site.rank, peer, site.lane)];
    channel.queue.push_back(domain_.depart(site, peer, std::move(value)));
    ++outcome_.messages;
    if (!channel.receiver_waits) return;
    channel.receiver_waits = false;
    woken_.push_back(cursor_id(peer, site.lane));
  }

  void wake_dependents(const Site& site) {
    if (source_.is_merged()) {
      for (std::size_t id = 0; id < cursors_.size(); ++id)
        if (std::exchange(cursors_[id].held, false)) woken_.push_back(id);
      return;
    }
    if (header_.lanes == 1) return;
    for (int lane = 0; lane < header_.lanes; ++lane) {
      const std::size_t id = cursor_id(site.rank, lane);
      if (std::exchange(cursors_[id].held, false)) woken_.push_back(id);
    }
  }

  void finish() {
    for (std::size_t id = 0; id < cursors_.size(); ++id) {
      const Cursor& cursor = cursors_[id];
      if (cursor.ended) continue;
      const bool ended = cursor.peer >= 0 && cursors_[cursor_id(cursor.peer, lane_of(id))].ended;
      outcome_.blocked.push_back({rank_of(id), lane_of(id), cursor.on, cursor.peer, ended,
                                  cursor.move.index, cursor.move.op->phase, cursor.move.op->round});
    }
    outcome_.completed = outcome_.blocked.empty();
    for (const auto& [id, channel] : channels_) {
      if (channel.size() == 0) continue;
      const auto ranks = static_cast<std::uint64_t>(header_.ranks);
      outcome_.left_over.push_back(
          {rank_of(id / ranks), static_cast<int>(id % ranks), lane_of(id / ranks), channel.size()});
    }
  }

  /// Several heads are looked at together, so an op takes at most one message of each channel.
  [[noreturn]] static void two_messages(const Site& site, int peer);

  Source& source_;
  Domain& domain_;
  const Schedule& header_;
  std::vector<Cursor> cursors_;  ///< rank * lanes + lane
  std::unordered_map<std::uint64_t, Channel> channels_{};
  std::vector<std::size_t> woken_{};
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      Later>
      ready_{};
  std::vector<Value> operands_{};
  Outcome outcome_{};
};

/// Throws the Error of an op that takes two messages of one channel.
[[noreturn]] void throw_two_messages(const Site& site, int peer);

template <class Source, class Domain>
void Machine<Source, Domain>::two_messages(const Site& site, int peer) {
  throw_two_messages(site, peer);
}

/// Runs a schedule over a domain.
template <class Domain>
Outcome run(const Schedule& schedule, Domain& domain, const LineOf& line_of = {}) {
  ScheduleSource source(schedule, line_of);
  return Machine<ScheduleSource, Domain>(source, domain).run();
}

/// Runs lowered programs, one of each rank, over a domain. `header` is the schedule they came from;
/// its steps are not used.
template <class Domain>
Outcome run(const Schedule& header, std::span<const Program> programs, Domain& domain) {
  ProgramSource source(header, programs);
  return Machine<ProgramSource, Domain>(source, domain).run();
}

}  // namespace rondo
