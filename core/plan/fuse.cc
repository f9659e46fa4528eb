#include "core/plan/draft.h"
#include "core/plan/uses.h"

namespace rondo {
namespace {

using Drafts = std::vector<Draft>;
using Index = Uses::Index;

/// The draft before `position` that last wrote exactly `chunk`; nullopt when the last writer wrote
/// another run that merely overlaps, or there is none.
std::optional<Index> producer_of(const Drafts& drafts, const Uses& uses, Index position,
                                 const Chunk& chunk) {
  const std::optional<Index> last = uses.writer_before(position, chunk);
  return last && drafts[*last].op.into == chunk ? last : std::nullopt;
}

/// send(x) joins the op that made x, unless another message to the same peer left in between.
/// Channels that send from place send x from where it is kept: joined, it would be copied once more
/// (measured over tcp: 0.6 to 0.9 of the time without, from 1 MB).
void fuse_send(Drafts& drafts, Uses& uses, Index position, Fusion fusion) {
  Draft& sending = drafts[position];
  if (sending.op.out_peer < 0 || sending.op.writes || sending.operands[0].is_channel()) return;
  const auto made = producer_of(drafts, uses, position, sending.operands[0].chunk);
  if (!made || drafts[*made].op.out_peer >= 0) return;
  const bool kept = drafts[*made].op.into.buffer != Buffer::scratch;
  if (fusion == Fusion::sends_from_place && kept) return;
  const int peer = sending.op.out_peer;
  if (uses.sends_between(*made, position, peer)) return;
  drafts[*made].op.out_peer = peer;
  uses.add_send(*made, peer);
  sending.alive = false;
}

/// A scratch operand that one draft only received or copied is read where it came from instead.
void fuse_operand(Drafts& drafts, Uses& uses, Index position, std::size_t index) {
  const Operand wanted = drafts[position].operands[index];
  if (wanted.is_channel() || wanted.chunk.buffer != Buffer::scratch) return;
  const auto made = producer_of(drafts, uses, position, wanted.chunk);
  if (!made) return;
  Draft& producer = drafts[*made];
  if (producer.operands.size() != 1 || producer.op.out_peer >= 0) return;
  if (uses.read_after(*made, position, wanted.chunk)) return;
  const Operand source = producer.operands[0];
  const bool moved_past_its_like =
      source.is_channel() ? uses.receives_between(*made, position, source.peer)
                          : uses.writer_before(position, source.chunk).value_or(0) > *made;
  // Two messages of one channel in one op would need their order said; no schedule needs it.
  const bool twice =
      source.is_channel() && uses.receives_between(position - 1, position + 1, source.peer);
  if (moved_past_its_like || twice) return;
  drafts[position].operands[index] = source;
  uses.remove(position, wanted);
  uses.add(position, source);
  producer.alive = false;
}

/// A value that was sent on and is not read again need not be written to scratch.
void drop_unread(Draft& draft, const Uses& uses, Index position) {
  if (!draft.op.writes || draft.op.into.buffer != Buffer::scratch || draft.op.out_peer < 0) return;
  if (!uses.read_after(position, position, draft.op.into)) draft.op.writes = false;
}

/// Executors take a run that does not wrap as one piece and ask the extent: so it is a run that
/// wraps where any of the op's does. Blocks of equal size begin at different chunks in an op's
/// runs, e.g. on their way through scratch.
void settle_extent(Draft& draft, int chunks) {
  const auto settle = [&](const Chunk& run) {
    if (run.first + run.count > static_cast<std::uint32_t>(chunks)) draft.op.extent = run;
  };
  if (draft.op.writes) settle(draft.op.into);
  for (const Operand& operand : draft.operands) {
    if (!operand.is_channel()) settle(operand.chunk);
  }
}

}  // namespace

void fuse(Drafts& drafts, int chunks, Fusion fusion) {
  Uses uses(drafts, chunks);
  const auto count = static_cast<Index>(drafts.size());
  for (Index i = 0; fusion != Fusion::none && i < count; ++i) {
    for (std::size_t k = 0; k < drafts[i].operands.size(); ++k) fuse_operand(drafts, uses, i, k);
    fuse_send(drafts, uses, i, fusion);
  }
  for (Index i = 0; i < count; ++i) {
    Draft& draft = drafts[i];
    if (!draft.alive) continue;
    drop_unread(draft, uses, i);
    settle_extent(draft, chunks);
    Op& op = draft.op;
    op.last = op.writes && op.into.buffer == Buffer::output && !uses.read_after(i, i, op.into);
  }
  std::erase_if(drafts, [](const Draft& draft) { return !draft.alive; });
}

}  // namespace rondo
