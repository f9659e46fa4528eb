#include "core/plan/lower.h"

#include <algorithm>
#include <unordered_map>

#include "core/plan/draft.h"
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

bool uses_scratch(const Draft& draft) {
  const auto is_scratch = [](const Chunk& chunk) { return chunk.buffer == Buffer::scratch; };
  return (draft.op.writes && is_scratch(draft.op.into)) ||
         std::any_of(draft.operands.begin(), draft.operands.end(), [&](const Operand& operand) {
           return !operand.is_channel() && is_scratch(operand.chunk);
         });
}

bool conflict(const Draft& a, const Draft& b, int chunks, bool scratch_only) {
  const auto counts = [&](const Chunk& chunk) {
    return !scratch_only || chunk.buffer == Buffer::scratch;
  };
  const Chunk& written = a.op.into;
  if (a.op.writes && counts(written) && (reads(b, written, chunks) || writes(b, written, chunks)))
    return true;
  return b.op.writes && counts(b.op.into) && reads(a, b.op.into, chunks);
}

/// Dependencies of one lane's drafts, by index within the lane. Ops that share a channel are
/// ordered by it already, so memory conflicts are listed only between ops that do not.
std::vector<std::vector<Dependency>> dependencies_of(const std::vector<Draft>& drafts, int chunks) {
  std::vector<std::vector<Dependency>> result(drafts.size());
  std::vector<std::vector<ChannelOrder::Channel>> channels;
  std::unordered_map<ChannelOrder::Channel, std::uint32_t> last;  // newest op on each channel
  for (const Draft& draft : drafts) channels.push_back(ChannelOrder::channels(draft));
  std::vector<ChannelOrder::Channel> opening;
  std::vector<std::uint32_t> opener;
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    for (const auto channel : channels[i]) {
      if (const auto before = last.find(channel); before != last.end()) {
        result[i].push_back({.on = before->second, .same_channel = true});
      } else {
        opening.push_back(channel);
        opener.push_back(i);
      }
      last[channel] = i;
    }
    for (std::uint32_t j = 0; j < i; ++j) {
      if (!ChannelOrder::share(channels[i], channels[j]) &&
          conflict(drafts[i], drafts[j], chunks, false)) {
        result[i].push_back({.on = j});
      }
    }
  }
  for (std::size_t k = 0; k < opening.size(); ++k) {
    result[opener[k]].push_back(
        {.on = last[opening[k]], .previous_pass = true, .same_channel = true});
  }
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    if (!uses_scratch(drafts[i])) continue;
    for (std::uint32_t j = 0; j < drafts.size(); ++j) {
      const bool ordered = ChannelOrder::share(channels[i], channels[j]);
      if (!ordered && conflict(drafts[i], drafts[j], chunks, true))
        result[i].push_back({.on = j, .previous_pass = true});
    }
  }
  for (auto& list : result) {
    std::sort(list.begin(), list.end(), [](const Dependency& a, const Dependency& b) {
      return std::pair(a.previous_pass, a.on) < std::pair(b.previous_pass, b.on);
    });
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return result;
}

/// Sets Op::rewritten of the ops that send a local chunk as it is. Passes share only scratch, and
/// lanes share no memory.
void find_rewritten(std::vector<Draft>& drafts, int chunks) {
  for (auto draft = drafts.begin(); draft != drafts.end(); ++draft) {
    if (draft->op.out_peer < 0 || draft->op.writes || draft->operands.size() != 1) continue;
    const Operand& sent = draft->operands[0];
    if (sent.is_channel()) continue;
    draft->op.rewritten = sent.chunk.buffer == Buffer::scratch ||
                          std::any_of(draft + 1, drafts.end(), [&](const Draft& later) {
                            return writes(later, sent.chunk, chunks);
                          });
  }
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
struct Lane {
  std::vector<Draft> drafts;
  std::vector<std::vector<Dependency>> dependencies;
  std::vector<std::uint32_t> place;  ///< index in the program, by index in the lane
};

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
    lane.dependencies = dependencies_of(lane.drafts, chunks);
  }
  Program program = interleave(lanes);
  program.lanes = schedule.lanes;
  program.depth = std::max(schedule.depth, fused_depth);
  return program;
}

}  // namespace rondo
