#include "core/schedule/hazard.h"

#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "core/schedule/collective.h"
#include "core/schedule/op.h"

namespace rondo {
namespace {

using Index = std::uint32_t;

/// One set of ops for each op, as bits.
class Sets {
 public:
  explicit Sets(std::size_t ops) : words_((ops + 63) / 64), bits_(ops * words_) {}

  bool has(Index of, Index member) const {
    return (bits_[of * words_ + member / 64] >> (member % 64) & 1) != 0;
  }
  void add(Index to, Index member) {
    bits_[to * words_ + member / 64] |= std::uint64_t{1} << (member % 64);
  }
  void add_all(Index to, const Sets& other, Index from) {
    for (std::size_t i = 0; i < words_; ++i)
      bits_[to * words_ + i] |= other.bits_[from * words_ + i];
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Which ops must run after which, by a dependency or a chain of them: of the same pass, or of the
/// pass before.
class Ordering {
 public:
  explicit Ordering(const Program& program)
      : this_pass_(program.ops.size()), previous_pass_(program.ops.size()) {
    sort(program);
    for (const Index op : sorted_)
      for (const Dependency& dependency : program.dependencies_of(program.ops[op])) {
        if (dependency.previous_pass) continue;
        this_pass_.add(op, dependency.on);
        this_pass_.add_all(op, this_pass_, dependency.on);
      }
    for (const Index op : sorted_)
      for (const Dependency& dependency : program.dependencies_of(program.ops[op])) {
        if (dependency.previous_pass) previous_pass_.add(op, dependency.on);
        previous_pass_.add_all(op, dependency.previous_pass ? this_pass_ : previous_pass_,
                               dependency.on);
      }
  }

  /// All ops, each after the ops of its pass that it depends on, otherwise in program order.
  const std::vector<Index>& sorted() const { return sorted_; }
  bool after(Index op, Index other) const { return this_pass_.has(op, other); }
  bool after_previous(Index op, Index other) const { return previous_pass_.has(op, other); }

 private:
  void sort(const Program& program) {
    std::vector<std::vector<Index>> dependents(program.ops.size());
    std::vector<std::size_t> waiting(program.ops.size());
    std::priority_queue<Index, std::vector<Index>, std::greater<>> free;
    for (Index op = 0; op < program.ops.size(); ++op) {
      for (const Dependency& dependency : program.dependencies_of(program.ops[op])) {
        if (dependency.previous_pass) continue;
        dependents[dependency.on].push_back(op);
        ++waiting[op];
      }
      if (waiting[op] == 0) free.push(op);
    }
    while (!free.empty()) {
      const Index op = free.top();
      free.pop();
      sorted_.push_back(op);
      for (const Index dependent : dependents[op])
        if (--waiting[dependent] == 0) free.push(dependent);
    }
  }

  Sets this_pass_;
  Sets previous_pass_;
  std::vector<Index> sorted_{};
};

enum class Kind : std::uint8_t { user, scratch, in_channel, out_channel };

/// kind, slot or lane, chunk or peer. Input and output are one memory where they may be.
using Thing = std::tuple<Kind, int, int>;

/// The uses of one thing in order, as far as the next use must come after them.
struct Uses {
  std::vector<Index> first_readers{};  ///< before the first change
  std::vector<Index> readers{};        ///< since the last change
  bool changed = false;
  Index first_change = 0;
  Index last_change = 0;
};

class Finder {
 public:
  Finder(const Schedule& header, const Program& program, int rank,
         const std::function<void(const std::string&)>& complain)
      : header_(header), program_(program), rank_(rank), complain_(complain), order_(program) {}

  void find() {
    for (const Index op : order_.sorted()) visit(op);
    for (const auto& [thing, uses] : uses_)
      if (std::get<0>(thing) != Kind::user) between_passes(thing, uses);
  }

 private:
  void visit(Index index) {
    const Op& op = program_.ops[index];
    for (const Operand& operand : program_.operands_of(op)) {
      if (operand.is_channel())
        change(index, {Kind::in_channel, op.lane, operand.peer});
      else
        each(operand.chunk, [&](const Thing& thing) { read(index, thing); });
    }
    if (op.writes) each(op.into, [&](const Thing& thing) { change(index, thing); });
    if (op.out_peer >= 0) change(index, {Kind::out_channel, op.lane, op.out_peer});
  }

  template <class Use>
  void each(const Chunk& run, Use use) {
    if (run.buffer == Buffer::input && !may_alias(header_.collective)) return;
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const auto chunks = static_cast<std::uint32_t>(header_.layout.chunks());
      use(Thing{run.buffer == Buffer::scratch ? Kind::scratch : Kind::user, run.slot,
                static_cast<int>((run.first + i) % chunks)});
    }
  }

  void read(Index op, const Thing& thing) {
    Uses& uses = uses_[thing];
    if (uses.changed) demand(op, uses.last_change, thing);
    uses.readers.push_back(op);
    if (!uses.changed) uses.first_readers.push_back(op);
  }

  void change(Index op, const Thing& thing) {
    Uses& uses = uses_[thing];
    for (const Index reader : uses.readers) demand(op, reader, thing);
    if (uses.changed) demand(op, uses.last_change, thing);
    if (!uses.changed) uses.first_change = op;
    uses.changed = true;
    uses.last_change = op;
    uses.readers.clear();
  }

  void demand(Index op, Index earlier, const Thing& thing) {
    if (op == earlier || order_.after(op, earlier)) return;
    complain(op, earlier, thing, "");
  }

  void between_passes(const Thing& thing, const Uses& uses) {
    if (!uses.changed) return;
    const auto demand_previous = [&](Index op, Index earlier) {
      if (!order_.after_previous(op, earlier)) complain(op, earlier, thing, " of the pass before");
    };
    for (const Index reader : uses.first_readers) demand_previous(reader, uses.last_change);
    demand_previous(uses.first_change, uses.last_change);
    for (const Index reader : uses.readers) demand_previous(uses.first_change, reader);
  }

  void complain(Index op, Index earlier, const Thing& thing, const std::string& pass) {
    complain_("rank " + std::to_string(rank_) + ": op " + std::to_string(op) + " (" +
              phase_text(header_, program_.ops[op].phase, program_.ops[op].round) +
              ") does not depend on op " + std::to_string(earlier) + pass + ", though both use " +
              name(thing));
  }

  std::string name(const Thing& thing) const {
    const auto [kind, place, number] = thing;
    switch (kind) {
      case Kind::user:
        return "chunk " + std::to_string(number) + " of the user's memory";
      case Kind::scratch:
        return text(scratch(place, number), header_.layout);
      case Kind::in_channel:
        return "the channel from rank " + std::to_string(number) + " in lane " +
               std::to_string(place);
      case Kind::out_channel:
        return "the channel to rank " + std::to_string(number) + " in lane " +
               std::to_string(place);
    }
    return {};
  }

  const Schedule& header_;
  const Program& program_;
  int rank_;
  const std::function<void(const std::string&)>& complain_;
  Ordering order_;
  std::map<Thing, Uses> uses_{};
};

}  // namespace

void find_hazards(const Schedule& header, const Program& program, int rank,
                  const std::function<void(const std::string&)>& complain) {
  Finder(header, program, rank, complain).find();
}

}  // namespace rondo
