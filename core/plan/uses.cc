#include "core/plan/uses.h"

#include <algorithm>

namespace rondo {
namespace {

/// Half-open pieces of a run: one, or two when it wraps.
struct Pieces {
  int begin[2];
  int end[2];
  int count;
};

Pieces pieces_of(const Chunk& run, int chunks) {
  const auto first = static_cast<int>(run.first);
  const int last = first + static_cast<int>(run.count);
  if (last <= chunks) return {{first, 0}, {last, 0}, 1};
  return {{first, 0}, {chunks, last - chunks}, 2};
}

bool same_memory(const Chunk& a, const Chunk& b) {
  const bool a_scratch = a.buffer == Buffer::scratch;
  const bool b_scratch = b.buffer == Buffer::scratch;
  return a_scratch == b_scratch && (!a_scratch || a.slot == b.slot);
}

/// Whether two runs may share memory.
bool overlap(const Chunk& a, const Chunk& b, int chunks) {
  if (!same_memory(a, b)) return false;
  const Pieces left = pieces_of(a, chunks);
  const Pieces right = pieces_of(b, chunks);
  for (int i = 0; i < left.count; ++i) {
    for (int j = 0; j < right.count; ++j) {
      if (left.begin[i] < right.end[j] && right.begin[j] < left.end[i]) return true;
    }
  }
  return false;
}

void insert(std::vector<Uses::Index>& users, Uses::Index user) {
  const auto place = std::ranges::lower_bound(users, user);
  if (place == users.end() || *place != user) users.insert(place, user);
}

}  // namespace

Uses::Uses(const std::vector<Draft>& drafts, int chunks) : drafts_(drafts), chunks_(chunks) {
  for (Index i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    for (const Operand& operand : draft.operands) add(i, operand);
    if (draft.op.writes)
      each_chunk(draft.op.into, chunks_,
                 [&](std::uint64_t key) { insert(memory_[key].writers, i); });
    if (draft.op.out_peer >= 0) add_send(i, draft.op.out_peer);
  }
}

void Uses::add(Index by, const Operand& operand) {
  if (operand.is_channel()) return insert(receivers_[operand.peer], by);
  each_chunk(operand.chunk, chunks_, [&](std::uint64_t key) { insert(memory_[key].readers, by); });
}

void Uses::add_send(Index by, int peer) { insert(senders_[peer], by); }

bool Uses::writes(Index index) const { return drafts_[index].alive && drafts_[index].op.writes; }

bool Uses::reads(Index index, const Chunk& run) const {
  const auto is_of_run = [&](const Operand& operand) {
    return !operand.is_channel() && overlap(operand.chunk, run, chunks_);
  };
  return drafts_[index].alive && std::ranges::any_of(drafts_[index].operands, is_of_run);
}

std::optional<Uses::Index> Uses::writer_before(Index before, const Chunk& run) const {
  std::optional<Index> last;
  each_chunk(run, chunks_, [&](std::uint64_t key) {
    const auto found = memory_.find(key);
    if (found == memory_.end()) return;
    const Users& writers = found->second.writers;
    auto at = std::ranges::lower_bound(writers, before);
    while (at != writers.begin() && !writes(*(at - 1))) --at;
    if (at != writers.begin()) last = std::max(last.value_or(0), *(at - 1));
  });
  return last;
}

bool Uses::read_after(Index after, Index except, const Chunk& run) const {
  std::optional<Index> reader;
  std::optional<Index> writer;
  each_chunk(run, chunks_, [&](std::uint64_t key) {
    const auto found = memory_.find(key);
    if (found == memory_.end()) return;
    const auto first = [&](const Users& users, std::optional<Index>& earliest, auto counts) {
      for (auto at = std::ranges::upper_bound(users, after); at != users.end(); ++at) {
        if (earliest && *at >= *earliest) return;
        if (*at == except || !counts(*at)) continue;
        earliest = *at;
        return;
      }
    };
    first(found->second.readers, reader, [&](Index each) { return reads(each, run); });
    first(found->second.writers, writer,
          [&](Index each) { return writes(each) && drafts_[each].op.into == run; });
  });
  return reader && (!writer || *reader <= *writer);
}

template <class Predicate>
bool Uses::any_between(const std::unordered_map<int, Users>& all, Index after, Index before,
                       int peer, Predicate uses) const {
  const auto found = all.find(peer);
  if (found == all.end()) return false;
  const Users& users = found->second;
  return std::any_of(std::ranges::upper_bound(users, after),
                     std::ranges::lower_bound(users, before),
                     [&](Index each) { return drafts_[each].alive && uses(drafts_[each]); });
}

bool Uses::sends_between(Index after, Index before, int peer) const {
  return any_between(senders_, after, before, peer,
                     [&](const Draft& draft) { return draft.op.out_peer == peer; });
}

bool Uses::receives_between(Index after, Index before, int peer) const {
  return any_between(receivers_, after, before, peer,
                     [&](const Draft& draft) { return draft.receives_from(peer); });
}

}  // namespace rondo
