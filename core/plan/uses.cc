#include "core/plan/uses.h"

#include <algorithm>

namespace rondo {
namespace {

void insert(std::vector<Uses::Index>& users, Uses::Index user) {
  users.insert(std::ranges::upper_bound(users, user), user);
}

}  // namespace

Uses::Uses(const std::vector<Draft>& drafts, int chunks) : drafts_(drafts), chunks_(chunks) {
  for (Index i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    for (const Operand& operand : draft.operands) add(i, operand);
    if (draft.op.writes)
      each_chunk(draft.op.into, chunks_,
                 [&](std::uint64_t key) { memory_[key].writers.push_back(i); });
    if (draft.op.out_peer >= 0) add_send(i, draft.op.out_peer);
  }
}

void Uses::add(Index by, const Operand& operand) {
  if (operand.is_channel()) return insert(receivers_[operand.peer], by);
  each_chunk(operand.chunk, chunks_, [&](std::uint64_t key) { insert(memory_[key].readers, by); });
}

void Uses::remove(Index by, const Operand& operand) {
  const auto erase = [&](Users& users) { users.erase(std::ranges::lower_bound(users, by)); };
  if (operand.is_channel()) return erase(receivers_[operand.peer]);
  each_chunk(operand.chunk, chunks_, [&](std::uint64_t key) { erase(memory_[key].readers); });
}

void Uses::add_send(Index by, int peer) { insert(senders_[peer], by); }

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

bool Uses::read_after(Index after, Index ignored, const Chunk& run) const {
  std::optional<Index> reader;
  const auto each_memory = [&](auto use) {
    each_chunk(run, chunks_, [&](std::uint64_t key) {
      if (const auto found = memory_.find(key); found != memory_.end()) use(found->second);
    });
  };
  each_memory([&](const Memory& memory) {
    const Users& readers = memory.readers;
    for (auto at = std::ranges::upper_bound(readers, after); at != readers.end(); ++at) {
      if (reader && *at >= *reader) return;
      if (*at == ignored || !is_alive(*at)) continue;
      reader = *at;
      return;
    }
  });
  if (!reader) return false;
  bool rewritten = false;
  each_memory([&](const Memory& memory) {
    const Users& writers = memory.writers;
    for (auto at = std::ranges::upper_bound(writers, after);
         !rewritten && at != writers.end() && *at < *reader; ++at)
      rewritten = *at != ignored && writes(*at) && drafts_[*at].op.into == run;
  });
  return !rewritten;
}

bool Uses::any_between(const std::unordered_map<int, Users>& all, Index after, Index before,
                       int peer) const {
  const auto found = all.find(peer);
  if (found == all.end()) return false;
  const Users& users = found->second;
  return std::any_of(std::ranges::upper_bound(users, after),
                     std::ranges::lower_bound(users, before),
                     [&](Index each) { return is_alive(each); });
}

bool Uses::sends_between(Index after, Index before, int peer) const {
  return any_between(senders_, after, before, peer);
}

bool Uses::receives_between(Index after, Index before, int peer) const {
  return any_between(receivers_, after, before, peer);
}

}  // namespace rondo
