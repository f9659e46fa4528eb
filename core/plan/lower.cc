#include "core/plan/lower.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/plan/draft.h"
#include "core/plan/uses.h"
#include "core/schedule/op.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// Fusion lets an op hold one message while it waits to send the next.
constexpr int fused_depth = 2;

/// Which earlier (or, across passes, later) ops share a channel with an op, by channel.
class ChannelOrder {
 public:
  using Channel = std::int64_t;
  static Channel in(int peer) { return peer; }
  static Channel out(int peer) { return -1 - static_cast<Channel>(peer); }

  static std::vector<Channel> channels(const Draft& draft) {
    std::vector<Channel> used;
    for (const Operand& operand : draft.operands) {
      if (operand.is_channel()) used.push_back(in(operand.peer));
    }
    if (draft.op.out_peer >= 0) used.push_back(out(draft.op.out_peer));
    std::sort(used.begin(), used.end());
    return used;
  }
  static bool share(const std::vector<Channel>& a, const std::vector<Channel>& b) {
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() && right != b.end()) {
      if (*left == *right) return true;
      if (*left < *right) {
        ++left;
      } else {
        ++right;
      }
    }
    return false;
  }
};

struct Lane {
  std::vector<Draft> drafts;
  std::vector<std::vector<Dependency>> dependencies;
  std::vector<std::uint32_t> place;  ///< index in the program, by index in the lane
};

/// The drafts that touch one chunk, as far as the next one must come after them. Those before them
/// are ordered through them.
struct Touched {
  std::vector<std::uint32_t> first_readers{};  ///< before the first change
  std::vector<std::uint32_t> readers{};        ///< since the last change
  std::optional<std::uint32_t> first_change{};
  std::uint32_t last_change = 0;
};

/// Dependencies of one lane's drafts, by index within the lane. Ops that share a channel are
/// ordered by it already, so memory conflicts are listed only between ops that do not.
class Dependencies {
 public:
  Dependencies(const std::vector<Draft>& drafts, int chunks)
      : drafts_(drafts), chunks_(chunks), lists_(drafts.size()) {
    for (const Draft& draft : drafts) channels_.push_back(ChannelOrder::channels(draft));
  }

  std::vector<std::vector<Dependency>> take() {
    order_channels();
    for (std::uint32_t i = 0; i < drafts_.size(); ++i) touch(i);
    for (const auto& [key, touched] : touched_)
      if (is_scratch(key)) order_passes(touched);
    for (auto& list : lists_) {
      std::ranges::sort(list, {}, [](const Dependency& each) {
        return std::tuple(each.previous_pass, each.on, each.same_channel);
      });
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return std::move(lists_);
  }

 private:
  bool is_scratch(std::uint64_t key) const { return key >= static_cast<std::uint64_t>(chunks_); }

  void order_channels() {
    std::unordered_map<ChannelOrder::Channel, std::uint32_t> last;  // newest op on each channel
    std::vector<std::pair<ChannelOrder::Channel, std::uint32_t>> opening;
    for (std::uint32_t i = 0; i < drafts_.size(); ++i)
      for (const auto channel : channels_[i]) {
        if (const auto before = last.find(channel); before != last.end()) {
          lists_[i].push_back({.on = before->second, .same_channel = true});
        } else {
          opening.emplace_back(channel, i);
        }
        last[channel] = i;
      }
    for (const auto& [channel, opener] : opening)
      lists_[opener].push_back({.on = last[channel], .previous_pass = true, .same_channel = true});
  }

  void touch(std::uint32_t i) {
    const Draft& draft = drafts_[i];
    for (const Operand& operand : draft.operands)
      if (!operand.is_channel())
        each_chunk(operand.chunk, chunks_, [&](std::uint64_t key) { read(i, touched_[key]); });
    if (draft.op.writes)
      each_chunk(draft.op.into, chunks_, [&](std::uint64_t key) { change(i, touched_[key]); });
  }
  void read(std::uint32_t i, Touched& touched) {
    if (touched.first_change) add(i, touched.last_change, false);
    (touched.first_change ? touched.readers : touched.first_readers).push_back(i);
  }
  void change(std::uint32_t i, Touched& touched) {
    for (const std::uint32_t reader :
         touched.first_change ? touched.readers : touched.first_readers)
      add(i, reader, false);
    if (touched.first_change) add(i, touched.last_change, false);
    if (!touched.first_change) touched.first_change = i;
    touched.last_change = i;
    touched.readers.clear();
  }

  /// Passes share scratch, and nothing else.
  void order_passes(const Touched& touched) {
    if (!touched.first_change) return;
    for (const std::uint32_t reader : touched.first_readers) add(reader, touched.last_change, true);
    add(*touched.first_change, touched.last_change, true);
    for (const std::uint32_t reader : touched.readers) add(*touched.first_change, reader, true);
  }

  void add(std::uint32_t to, std::uint32_t on, bool previous_pass) {
    if (to == on && !previous_pass) return;
    if (!ChannelOrder::share(channels_[to], channels_[on]))
      lists_[to].push_back({.on = on, .previous_pass = previous_pass});
  }

  const std::vector<Draft>& drafts_;
  int chunks_;
  std::vector<std::vector<Dependency>> lists_;
  std::vector<std::vector<ChannelOrder::Channel>> channels_{};
  std::unordered_map<std::uint64_t, Touched> touched_{};
};

/// Sets Op::rewritten of the ops that send a local chunk as it is. Passes share only scratch, and
/// lanes share no memory.
void find_rewritten(std::vector<Draft>& drafts, int chunks) {
  std::unordered_set<std::uint64_t> written;  // by later drafts
  for (auto draft = drafts.rbegin(); draft != drafts.rend(); ++draft) {
    Op& op = draft->op;
    if (op.out_peer >= 0 && !op.writes && draft->operands.size() == 1 &&
        !draft->operands[0].is_channel()) {
      const Chunk& sent = draft->operands[0].chunk;
      op.rewritten = sent.buffer == Buffer::scratch;
      each_chunk(sent, chunks, [&](std::uint64_t key) { op.rewritten |= written.contains(key); });
    }
    if (op.writes) each_chunk(op.into, chunks, [&](std::uint64_t key) { written.insert(key); });
  }
}

/// Numbers the scratch slots that are left from 0 on: each takes memory as large as the index space.
void renumber_scratch(std::vector<Lane>& lanes) {
  std::map<std::uint16_t, std::uint16_t> numbers;
  const auto each_slot = [&](auto use) {
    for (Lane& lane : lanes)
      for (Draft& draft : lane.drafts) {
        for (Operand& operand : draft.operands)
          if (!operand.is_channel() && operand.chunk.buffer == Buffer::scratch)
            use(operand.chunk.slot);
        if (draft.op.writes && draft.op.into.buffer == Buffer::scratch) use(draft.op.into.slot);
      }
  };
  each_slot([&](std::uint16_t slot) { numbers[slot] = 0; });
  std::uint16_t next = 0;
  for (auto& [slot, number] : numbers) number = next++;
  each_slot([&](std::uint16_t& slot) { slot = numbers[slot]; });
}

Draft draft_of(const Schedule& schedule, int rank, const Step& step, int lane) {
  Draft draft;
  draft.op = to_op(step, lane, draft.operands);
  const std::string problem = defect(schedule, rank, draft.op, draft.operands);
  if (problem.empty()) return draft;
  throw Error(ErrorCode::internal,
              "the schedule " + schedule.algorithm + " has a step that " + problem + ", in " +
                  phase_text(schedule, step.phase, step.round),
              {.rank = rank, .remedy = "`rondo verify` names every fault of a schedule"});
}

void note_scratch(Program& program, const Chunk& chunk) {
  if (chunk.buffer == Buffer::scratch)
    program.scratch_slots = std::max(program.scratch_slots, chunk.slot + 1);
}

void append(Program& program, const Draft& draft) {
  Op op = draft.op;
  op.first_operand = static_cast<std::uint32_t>(program.operands.size());
  op.operands = static_cast<std::uint32_t>(draft.operands.size());
  for (const Operand& operand : draft.operands) {
    program.operands.push_back(operand);
    if (!operand.is_channel()) note_scratch(program, operand.chunk);
  }
  if (op.writes) note_scratch(program, op.into);
  program.ops.push_back(op);
}

/// One lane after the other, but taking turns op by op, so that lanes advance together.
Program interleave(std::vector<Lane>& lanes) {
  Program program;
  std::size_t longest = 0;
  for (const Lane& lane : lanes) longest = std::max(longest, lane.drafts.size());
  for (std::size_t i = 0; i < longest; ++i) {
    for (Lane& lane : lanes) {
      if (i >= lane.drafts.size()) continue;
      lane.place.push_back(static_cast<std::uint32_t>(program.ops.size()));
      append(program, lane.drafts[i]);
    }
  }
  for (const Lane& lane : lanes) {
    for (std::size_t i = 0; i < lane.drafts.size(); ++i) {
      Op& op = program.ops[lane.place[i]];
      op.first_dependency = static_cast<std::uint32_t>(program.dependencies.size());
      op.dependencies = static_cast<std::uint32_t>(lane.dependencies[i].size());
      for (const Dependency& dependency : lane.dependencies[i]) {
        program.dependencies.push_back(dependency);
        program.dependencies.back().on = lane.place[dependency.on];
      }
    }
  }
  return program;
}

}  // namespace

Program lower(const Schedule& schedule, int rank, Fusion fusion) {
  const int chunks = schedule.layout.chunks();
  std::vector<Lane> lanes(static_cast<std::size_t>(schedule.lanes));
  for (int index = 0; index < schedule.lanes; ++index) {
    Lane& lane = lanes[static_cast<std::size_t>(index)];
    Steps steps = schedule.steps(rank, index);
    while (const Step* step = steps.next())
      lane.drafts.push_back(draft_of(schedule, rank, *step, index));
    fuse(lane.drafts, chunks, fusion);
    find_rewritten(lane.drafts, chunks);
    lane.dependencies = Dependencies(lane.drafts, chunks).take();
  }
  renumber_scratch(lanes);
  Program program = interleave(lanes);
  program.lanes = schedule.lanes;
  program.depth = std::max(schedule.depth, fused_depth);
  return program;
}

}  // namespace rondo
