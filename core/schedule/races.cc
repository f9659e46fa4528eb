#include "core/schedule/races.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/schedule/collective.h"
#include "core/schedule/op.h"

namespace rondo {
namespace {

/// What a step does with one chunk of somebody's memory.
struct Access {
  int rank = 0;
  std::size_t index = 0;
  const Op* op = nullptr;
  bool writes = false;
  bool remote = false;  ///< the memory is another rank's
};

/// In `copies`, what a rank shows lies apart from its own buffers.
enum class Memory : std::uint8_t { input, output, scratch, shown };

/// owner, memory, scratch slot, chunk
using Cell = std::tuple<int, Memory, int, int>;

class RaceFinder {
 public:
  RaceFinder(const Schedule& header, std::span<const Program> programs,
             const std::function<void(const std::string&)>& complain)
      : header_(header), programs_(programs), complain_(complain) {
    for (const Program& program : programs) {
      touched_.emplace_back();
      for (int stage = 0; stage < program.stages; ++stage)
        touched_.back().push_back(touched(program, stage));
    }
  }

  void find() {
    for (int rank = 0; rank < header_.ranks; ++rank) {
      in_order(rank);
      const Program& program = program_of(rank);
      for (std::size_t index = 0; index < program.ops.size(); ++index) note(rank, index);
    }
    for (const auto& [cell, accesses] : accesses_) compare(cell, accesses);
    for (int rank = 0; rank < header_.ranks; ++rank) compare_uses(rank);
  }

 private:
  const Program& program_of(int rank) const { return programs_[static_cast<std::size_t>(rank)]; }
  bool copies() const { return programs_[0].places == Places::copies; }

  /// Executors run ops one after the other, and a stage after its ops.
  void in_order(int rank) {
    const std::vector<Op>& ops = program_of(rank).ops;
    if (!std::ranges::is_sorted(ops, {}, &Op::stage))
      complain_("rank " + std::to_string(rank) + ": its ops are not in the order of their stages");
  }

  void note(int rank, std::size_t index) {
    const Program& program = program_of(rank);
    const Op& op = program.ops[index];
    const Access reads{rank, index, &op, false, false};
    for (const Operand& operand : program.operands_of(op)) {
      if (operand.is_local()) {
        add(rank, buffer(operand.chunk), operand.chunk, reads);
        continue;
      }
      Access place = reads;
      place.remote = true;
      add(operand.peer, copies() ? Memory::shown : buffer(operand.chunk), operand.chunk, place);
      uses_[operand.peer].push_back({rank, operand.chunk, false});
      if (operand.chunk.buffer != Buffer::input) made_before(place, operand);
    }
    const Access writes{rank, index, &op, true, false};
    if (op.writes && !keeps(program, op)) add(rank, buffer(op.into), op.into, writes);
    if (op.shown && copies()) add(rank, Memory::shown, op.into, writes);
    for (const std::int32_t peer : program.stores_of(op)) {
      Access store = writes;
      store.remote = true;
      add(peer, buffer(op.into), op.into, store);
      uses_[peer].push_back({rank, op.into, true});
      if (copies())
        complain_(where(store) + " stores to rank " + std::to_string(peer) +
                  ", whose buffers cannot be reached");
    }
  }

  /// Copies input to the same chunk of output: in place nothing changes, else it is other memory.
  static bool keeps(const Program& program, const Op& op) {
    const auto operands = program.operands_of(op);
    const Chunk& from = operands[0].chunk;
    return operands.size() == 1 && operands[0].is_local() && from.buffer == Buffer::input &&
           op.into.buffer == Buffer::output && from.first == op.into.first &&
           from.count == op.into.count;
  }

  Memory buffer(const Chunk& chunk) const {
    if (chunk.buffer == Buffer::scratch) return Memory::scratch;
    if (chunk.buffer == Buffer::output) return Memory::output;
    return may_alias(header_.collective) ? Memory::output : Memory::input;
  }

  void add(int owner, Memory memory, const Chunk& run, const Access& access) {
    // Copies of inputs are made before anything else, and never change.
    if (memory == Memory::shown && run.buffer == Buffer::input) return;
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const auto chunks = static_cast<std::uint32_t>(header_.layout.chunks());
      accesses_[{owner, memory, run.slot, static_cast<int>((run.first + i) % chunks)}].push_back(
          access);
    }
  }

  /// Each chunk of a place is made in an earlier stage, by its owner or by a rank that stores it.
  void made_before(const Access& reader, const Operand& place) {
    for (std::uint32_t i = 0; i < place.chunk.count; ++i) {
      const auto chunks = static_cast<std::uint32_t>(header_.layout.chunks());
      Chunk one = place.chunk;
      one.first = (place.chunk.first + i) % chunks;
      one.count = 1;
      if (made_before(*reader.op, place.peer, one)) continue;
      complain_(where(reader) + " reads " + text(one, header_.layout) + " of rank " +
                std::to_string(place.peer) + ", which no step of an earlier stage shows");
    }
  }

  bool made_before(const Op& reader, int owner, const Chunk& one) const {
    const auto makes = [&](const Op& op) {
      const auto chunks = static_cast<std::uint32_t>(header_.layout.chunks());
      const std::uint32_t within = (one.first + chunks - op.into.first) % chunks;
      return op.stage < reader.stage && op.into.buffer == one.buffer && op.into.slot == one.slot &&
             within < op.into.count;
    };
    return std::ranges::any_of(program_of(owner).ops,
                               [&](const Op& op) { return makes(op) && op.writes && op.shown; }) ||
           std::ranges::any_of(programs_, [&](const Program& program) {
             return std::ranges::any_of(program.ops, [&](const Op& op) {
               return makes(op) && std::ranges::count(program.stores_of(op), owner) > 0;
             });
           });
  }

  void compare(const Cell& cell, const std::vector<Access>& accesses) {
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      for (std::size_t j = i + 1; j < accesses.size(); ++j) {
        const Access& a = accesses[i];
        const Access& b = accesses[j];
        if (a.rank == b.rank || (!a.writes && !b.writes) || ordered(a, b) || ordered(b, a))
          continue;
        complain_(where(a) + (a.writes ? " writes" : " reads") + " chunk " +
                  std::to_string(std::get<3>(cell)) + " of rank " +
                  std::to_string(std::get<0>(cell)) + "'s memory, and " + where(b) +
                  (b.writes ? " writes" : " reads") + " it: nothing orders the two");
      }
    }
  }

  /// The rank of `late` begins its stage when that of `early` has ended an earlier one.
  bool ordered(const Access& early, const Access& late) const {
    const auto& stages = touched_[static_cast<std::size_t>(late.rank)];
    for (std::size_t stage = early.op->stage + std::size_t{1}; stage <= late.op->stage; ++stage)
      if (std::ranges::count(stages[stage], early.rank) > 0) return true;
    return false;
  }

  void compare_uses(int owner) {
    const std::vector<Use>& known = program_of(owner).uses;
    for (const Use& use : uses_[owner])
      if (std::ranges::count(known, use) == 0)
        complain_("rank " + std::to_string(owner) + " does not know that rank " +
                  std::to_string(use.rank) + (use.stores ? " stores to " : " reads ") +
                  text(use.chunk, header_.layout) + " of its memory, and would not wait for it");
  }

  std::string where(const Access& access) const {
    return "rank " + std::to_string(access.rank) + " op " + std::to_string(access.index) + " (" +
           phase_text(header_, access.op->phase, access.op->round) + ", stage " +
           std::to_string(access.op->stage + 1) + ")";
  }

  const Schedule& header_;
  std::span<const Program> programs_;
  const std::function<void(const std::string&)>& complain_;
  std::vector<std::vector<std::vector<std::int32_t>>> touched_{};  ///< by rank and stage
  std::map<Cell, std::vector<Access>> accesses_{};
  std::map<int, std::vector<Use>> uses_{};  ///< by owner
};

}  // namespace

std::vector<std::int32_t> touched(const Program& program, int stage) {
  std::vector<std::int32_t> ranks;
  const auto add = [&](std::int32_t rank) {
    if (std::ranges::count(ranks, rank) == 0) ranks.push_back(rank);
  };
  for (const Op& op : program.ops) {
    if (op.stage != stage) continue;
    for (const Operand& operand : program.operands_of(op))
      if (operand.in_place) add(operand.peer);
    for (const std::int32_t peer : program.stores_of(op)) add(peer);
  }
  return ranks;
}

void find_races(const Schedule& header, std::span<const Program> programs,
                const std::function<void(const std::string&)>& complain) {
  RaceFinder(header, programs, complain).find();
}

}  // namespace rondo
