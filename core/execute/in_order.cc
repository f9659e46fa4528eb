// Calls of one pass, run op by op where the peers answer soon. Part of Engine.
#include <cstring>

#include "core/execute/engine.h"

namespace rondo::detail {

// Inlined in one piece: each of its parts is a few instructions, and calling it costs as many.
[[gnu::flatten]] bool Engine::run_in_order(Operation& operation, std::uint32_t looks) {
  const PreparedCall& call = *operation.prepared;
  if (call.slicing.passes > 1) return false;
  grow_scratch(call);
  const bool is_short = channels_.by_memory() && trace_ == nullptr && !call.short_ops.empty();
  const auto ops =
      static_cast<std::uint32_t>(is_short ? call.short_ops.size() : call.plan->program.ops.size());
  for (; operation.op < ops; ++operation.op, ++operation.base) {
    for (std::uint32_t look = 0; !(is_short ? try_short(operation, call.short_ops[operation.op])
                                            : try_op(operation, operation.op, 0, operation.base));
         ++look) {
      if (look == looks) return false;
    }
  }
  return channels_.by_memory() ||
         channels_.handed_over();  // what is in shared memory is with the peer
}

/// The same as run_op() for channels in shared memory, with all that is known beforehand.
bool Engine::try_short(const Operation& operation, const ShortOp& op) {
  if (op.sources == 0) return true;
  const PreparedCall& call = *operation.prepared;
  const std::span<const ShortOp::Place> sources{call.short_sources.data() + op.first_source,
                                                op.sources};
  sources_.clear();
  for (const ShortOp::Place& source : sources) {
    if (source.peer < 0) {
      sources_.push_back(memory(operation, source));
      continue;
    }
    const Frame* const head = due(operation, op, source.peer);
    if (head == nullptr) return false;
    sources_.push_back(head->payload.data());
  }
  std::byte* slot = nullptr;
  if (op.out_peer >= 0) {
    slot = channels_.sender(op.out_peer, op.lane).acquire().data();
    if (slot == nullptr) return false;
  }
  if (channels_.have_checksums()) check_payloads(operation, op, sources);
  std::byte* const kept = op.writes ? memory(operation, op.into) : nullptr;
  void* const made = kept != nullptr ? kept : slot;
  if (op.sources > 1) {
    combiner_.prepare(call, call.sum_scale, false);
    combiner_({&made, 1}, sources_, op.elements);
  } else if (op.bytes > 0 && sources_[0] != made) {
    std::memcpy(made, sources_[0], op.bytes);
  }
  if (slot != nullptr) {
    if (kept != nullptr && op.bytes > 0) std::memcpy(slot, kept, op.bytes);
    channels_.sender(op.out_peer, op.lane)
        .commit(op.bytes, tag_of(op.fingerprint != 0 ? op.fingerprint : operation.fingerprint,
                                 {slot, op.bytes}));
    count_frame(op.out_peer, op.bytes, true);
  }
  for (const ShortOp::Place& source : sources)
    if (source.peer >= 0) channels_.receiver(source.peer, op.lane).release();
  return true;
}

const Frame* Engine::due(const Operation& operation, const ShortOp& op, int peer) {
  const Frame* const head = channels_.receiver(peer, op.lane).peek();
  if (head == nullptr) return nullptr;
  if (op.fingerprint == 0) {
    if (foreign(operation, peer, head->tag.fingerprint)) return nullptr;
  } else if (head->tag.fingerprint != op.fingerprint) {
    throw_mismatch(message_between(op.elements, operation.prepared->call.type), peer);
  }
  check_length(head->payload.size(), op.bytes, operation.prepared->call, peer);
  return head;
}

void Engine::check_payloads(const Operation& operation, const ShortOp& op,
                            std::span<const ShortOp::Place> sources) {
  for (const ShortOp::Place& source : sources) {
    if (source.peer < 0) continue;
    const Frame* const head = channels_.receiver(source.peer, op.lane).peek();
    check_payload(operation, source.peer, head->payload, head->tag.checksum);
  }
}

std::byte* Engine::memory(const Operation& operation, const ShortOp::Place& place) {
  // Input is read only; one address type for all buffers keeps this function single.
  std::byte* base = const_cast<std::byte*>(operation.input);
  if (place.buffer == Buffer::output) base = operation.output;
  if (place.buffer == Buffer::scratch) base = scratch_.data();
  return base + place.offset;
}

}  // namespace rondo::detail
