#include "core/plan/uses.h"

#include <algorithm>

namespace rondo {
namespace {

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
  return drafts_[index].alive && rondo::reads(drafts_[index], run, chunks_);
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
