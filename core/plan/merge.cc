#include "core/plan/merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/plan/draft.h"
#include "core/plan/lower.h"
#include "core/plan/uses.h"

namespace rondo {
namespace {

/// An op of a rank's lowered program.
struct Where {
  std::int32_t rank = 0;
  std::size_t op = 0;
  std::size_t receive = 0;  ///< of a store: the receiver's op that it stands for
};

class Merger {
 public:
  Merger(const Schedule& schedule, const Sharing& sharing)
      : chunks_(schedule.layout.chunks()), ranks_(schedule.ranks), sharing_(sharing) {
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      take(lower(schedule, rank, Fusion::sends_from_place));
  }

  /// False where a message cannot become a place.
  bool merge() {
    note_sends();
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t op = 0; op < drafts_of(rank).size(); ++op)
        if (!receive({rank, op})) return false;
    for (auto& drafts : drafts_)
      for (Draft& draft : drafts)
        if (is_send(draft)) draft.alive = false;
    for (auto& drafts : drafts_) join_stores(drafts);
    find_stages();
    return true;
  }

  std::vector<Program> programs() {
    std::vector<Program> all;
    for (auto& drafts : drafts_) all.push_back(program_of(drafts));
    for (std::int32_t rank = 0; rank < ranks_; ++rank) note_uses(all, rank);
    int stages = 1;
    for (const Program& program : all)
      for (const Op& op : program.ops) stages = std::max(stages, op.stage + 1);
    for (Program& program : all) {
      program.stages = stages;
      program.places = sharing_.places;
    }
    return all;
  }

 private:
  struct Draft : rondo::Draft {
    std::vector<Where> stores{};       ///< the receives, in other ranks, that it stands for
    std::vector<std::size_t> sends{};  ///< of a place operand: the peer's op that would send it
  };
  /// from, to, lane
  using Channel = std::tuple<std::int32_t, std::int32_t, int>;

  std::vector<Draft>& drafts_of(std::int32_t rank) {
    return drafts_[static_cast<std::size_t>(rank)];
  }
  Draft& at(const Where& where) { return drafts_of(where.rank)[where.op]; }

  void take(const Program& program) {
    std::vector<Draft>& drafts = drafts_.emplace_back();
    for (const Op& op : program.ops) {
      Draft& draft = drafts.emplace_back();
      draft.op = op;
      const auto operands = program.operands_of(op);
      draft.operands.assign(operands.begin(), operands.end());
      const auto rank = static_cast<std::int32_t>(drafts_.size() - 1);
      if (op.writes) note(writers_, rank, op.into, {rank, drafts.size() - 1});
    }
  }

  /// Ops by the rank in whose memory they write, and by chunk.
  using ByChunk = std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<Where>>;
  void note(ByChunk& all, std::int32_t rank, const Chunk& run, const Where& op) const {
    each_chunk(run, chunks_, [&](std::uint64_t key) { all[{rank, key}].push_back(op); });
  }
  /// An op comes as often as it touches a chunk of the run.
  template <class Use>
  void each_of(const ByChunk& all, std::int32_t rank, const Chunk& run, Use use) const {
    each_chunk(run, chunks_, [&](std::uint64_t key) {
      const auto found = all.find({rank, key});
      if (found == all.end()) return;
      for (const Where& op : found->second) use(op);
    });
  }

  void note_sends() {
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t op = 0; op < drafts_of(rank).size(); ++op) {
        const Op& sending = drafts_of(rank)[op].op;
        if (sending.out_peer >= 0)
          sent_[{rank, sending.out_peer, sending.lane}].push_back({rank, op});
      }
  }

  /// Only hands on what lies in the caller's memory.
  static bool is_send(const Draft& draft) {
    return draft.op.out_peer >= 0 && !draft.op.writes && draft.operands.size() == 1 &&
           draft.operands[0].is_local() && draft.operands[0].chunk.buffer != Buffer::scratch;
  }
  static bool is_receive(const Draft& draft) {
    return draft.op.out_peer < 0 && draft.op.writes && draft.operands.size() == 1 &&
           draft.op.into.buffer == Buffer::output;
  }

  /// Makes places of the messages that the op takes.
  bool receive(const Where& receiver) {
    Draft& draft = at(receiver);
    draft.sends.resize(draft.operands.size());
    for (std::size_t i = 0; i < draft.operands.size(); ++i) {
      Operand& operand = draft.operands[i];
      if (!operand.is_channel()) continue;
      const Channel channel{operand.peer, receiver.rank, draft.op.lane};
      const Where sender = sent_[channel][taken_[channel]++];
      if (is_send(at(sender))) {
        if (!store_instead(sender, receiver) && !post(sender, receiver)) {
          operand.chunk = at(sender).operands[0].chunk;
          operand.in_place = true;
          draft.sends[i] = sender.op;
        }
      } else if (sharing_.posted == Posted::none || !is_receive(draft) || at(sender).op.writes) {
        return false;  // a sum that only the message holds, and the receiver is no place for
      } else {
        store(at(sender), receiver);
        at(sender).op.out_peer = -1;
      }
    }
    return true;
  }

  /// Where the sent chunk is a sum, the op that makes it stores it to the receiver, too.
  bool store_instead(const Where& sender, const Where& receiver) {
    const Chunk& sent = at(sender).operands[0].chunk;
    const bool may_store = sharing_.posted != Posted::none && is_receive(at(receiver));
    if (!may_store || at(receiver).op.into != sent) return false;
    Draft* const maker = writer_before(sender, sent);
    if (maker == nullptr || maker->operands.size() < 2 || maker->op.into != sent) return false;
    store(*maker, receiver);
    return true;
  }

  /// What is only sent is stored by the sender, where no other rank can have put it there.
  bool post(const Where& sender, const Where& receiver) {
    const bool may_store = sharing_.posted == Posted::all && is_receive(at(receiver));
    if (!may_store || at(sender).operands[0].chunk.buffer != Buffer::input) return false;
    store(at(sender), receiver);
    at(sender).op.out_peer = -1;
    return true;
  }

  void store(Draft& maker, const Where& receiver) {
    if (!maker.op.writes) maker.op.into = at(receiver).op.into;
    maker.stores.push_back(receiver);
    at(receiver).alive = false;
  }

  /// One after the other, ops that put the same into the same chunk, of several ranks, become one.
  static void join_stores(std::vector<Draft>& drafts) {
    Draft* before = nullptr;
    for (Draft& draft : drafts) {
      if (!draft.alive) continue;
      if (before != nullptr && !before->op.writes && before->op.into == draft.op.into &&
          before->operands == draft.operands) {
        draft.stores.insert(draft.stores.begin(), before->stores.begin(), before->stores.end());
        before->stores.clear();
        before->alive = false;
      }
      before = &draft;
    }
  }

  /// The op of the same rank that wrote the chunk last.
  Draft* writer_before(const Where& reader, const Chunk& chunk) {
    const Where* last = nullptr;
    each_of(writers_, reader.rank, chunk, [&](const Where& writer) {
      if (writer.op < reader.op && (last == nullptr || writer.op > last->op)) last = &writer;
    });
    return last == nullptr ? nullptr : &at(*last);
  }

  /// Ops follow the ops before them in their rank, and what peers have made for them in an earlier
  /// stage.
  void find_stages() {
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      for (std::size_t op = 0; op < drafts_of(rank).size(); ++op)
        for (const Where& receiver : at({rank, op}).stores)
          note(storers_, receiver.rank, at({rank, op}).op.into,
               {.rank = rank, .op = op, .receive = receiver.op});
    for (bool changed = true; std::exchange(changed, false);)
      for (auto& drafts : drafts_) {
        std::uint16_t stage = 0;
        for (Draft& draft : drafts) {
          if (!draft.alive) continue;
          for (std::size_t i = 0; i < draft.operands.size(); ++i)
            if (draft.operands[i].in_place && draft.operands[i].chunk.buffer == Buffer::output)
              stage = std::max(stage, after_makers(draft.operands[i], draft.sends[i]));
          changed |= stage > draft.op.stage;
          draft.op.stage = stage = std::max(stage, draft.op.stage);
        }
      }
  }

  /// After what the peer, or others for it, had written there before it would have sent it.
  std::uint16_t after_makers(const Operand& place, std::size_t send) {
    std::uint16_t stage = 1;
    const auto follow = [&](const Draft& maker) {
      stage = std::max<std::uint16_t>(stage, maker.op.stage + 1);
    };
    each_of(writers_, place.peer, place.chunk, [&](const Where& writer) {
      Draft& draft = at(writer);
      if (writer.op >= send || !draft.alive || !draft.op.writes) return;
      draft.op.shown = true;
      follow(draft);
    });
    each_of(storers_, place.peer, place.chunk, [&](const Where& maker) {
      if (maker.receive < send) follow(at(maker));
    });
    return stage;
  }

  static Program program_of(const std::vector<Draft>& drafts) {
    Program program;
    const auto note_scratch = [&](const Chunk& chunk) {
      if (chunk.buffer == Buffer::scratch)
        program.scratch_slots = std::max(program.scratch_slots, chunk.slot + 1);
    };
    for (const Draft& draft : drafts) {
      if (!draft.alive) continue;
      for (const Operand& operand : draft.operands) note_scratch(operand.chunk);
      if (draft.op.writes) note_scratch(draft.op.into);
      Op op = draft.op;
      op.lane = 0;
      op.first_operand = static_cast<std::uint32_t>(program.operands.size());
      op.first_dependency = op.dependencies = 0;
      op.first_store = static_cast<std::uint32_t>(program.stores.size());
      op.stores = static_cast<std::uint32_t>(draft.stores.size());
      program.operands.insert(program.operands.end(), draft.operands.begin(), draft.operands.end());
      for (const Where& receiver : draft.stores) program.stores.push_back(receiver.rank);
      program.ops.push_back(op);
    }
    return program;
  }

  static void note_uses(std::vector<Program>& all, std::int32_t rank) {
    const Program& program = all[static_cast<std::size_t>(rank)];
    for (const Op& op : program.ops) {
      for (const Operand& operand : program.operands_of(op))
        if (operand.in_place)
          all[static_cast<std::size_t>(operand.peer)].uses.push_back({rank, operand.chunk, false});
      for (const std::int32_t peer : program.stores_of(op))
        all[static_cast<std::size_t>(peer)].uses.push_back({rank, op.into, true});
    }
  }

  int chunks_;
  std::int32_t ranks_;
  Sharing sharing_;
  std::vector<std::vector<Draft>> drafts_{};  ///< by rank
  std::map<Channel, std::vector<Where>> sent_{};
  std::map<Channel, std::size_t> taken_{};
  ByChunk writers_{};
  ByChunk storers_{};
};

}  // namespace

std::optional<std::vector<Program>> merge(const Schedule& schedule, const Sharing& sharing) {
  Merger merger(schedule, sharing);
  if (!merger.merge()) return std::nullopt;
  return merger.programs();
}

}  // namespace rondo
