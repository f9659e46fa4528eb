// One op of one pass: whether it can run now, and running it. Part of Engine.
#include <algorithm>
#include <cstring>

#include "core/execute/engine.h"
#include "kernels/cpu/reduce.h"

namespace rondo::detail {
namespace {

std::size_t chunk_elements(const PreparedCall& call, std::size_t chunk, std::uint64_t pass) {
  const std::size_t size = call.offsets[chunk + 1] - call.offsets[chunk];
  const std::size_t begin = static_cast<std::size_t>(pass) * call.slicing.slice;
  return size <= begin ? 0 : std::min(size - begin, call.slicing.slice);
}

std::size_t wrapped(const PreparedCall& call, const Chunk& run, std::uint32_t piece) {
  const std::size_t chunk = std::size_t{run.first} + piece;
  const auto chunks = static_cast<std::size_t>(call.chunks());
  return chunk < chunks ? chunk : chunk - chunks;
}

/// A run is one contiguous piece when all of it moves in one pass and it does not wrap; otherwise
/// it is a piece a chunk.
bool contiguous(const PreparedCall& call, const Chunk& run) {
  return run.count == 1 || (call.slicing.passes == 1 &&
                            run.first + run.count <= static_cast<std::size_t>(call.chunks()));
}

std::size_t piece_elements(const PreparedCall& call, const Chunk& run, std::uint32_t piece,
                           std::uint64_t pass) {
  if (run.count > 1 && contiguous(call, run))
    return call.offsets[run.first + run.count] - call.offsets[run.first];
  return chunk_elements(call, wrapped(call, run, piece), pass);
}

void move(void* to, const void* from, std::size_t bytes, bool streaming) {
  if (streaming) {
    copy({&to, 1}, from, bytes, true);
  } else {
    std::memcpy(to, from, bytes);
  }
}

std::uint32_t pieces_of(const PreparedCall& call, const Chunk& run) {
  return contiguous(call, run) ? 1 : run.count;
}

std::size_t run_elements(const PreparedCall& call, const Chunk& run, std::uint64_t pass) {
  std::size_t elements = 0;
  for (std::uint32_t piece = 0; piece < pieces_of(call, run); ++piece) {
    elements += piece_elements(call, run, piece, pass);
  }
  return elements;
}

std::size_t number_of(const Operation& operation, const Op& op) {
  return static_cast<std::size_t>(&op - operation.prepared->plan->program.ops.data());
}

}  // namespace

bool Engine::run_op(const Instance& instance) {
  const PreparedCall& call = *instance.operation.prepared;
  const Op& op = instance.op;
  const std::size_t bytes = call.op_bytes.empty()
                                ? run_elements(call, op.extent, instance.pass) * call.element_bytes
                                : call.op_bytes[number_of(instance.operation, op)];
  if (bytes == 0 && !call.tokens) return true;  // both ends know that there is nothing to say
  const Operand& first = call.plan->program.operands[op.first_operand];
  const bool moves_only = op.operands == 1 && bytes > 0 && pieces_of(call, op.extent) == 1;
  if (moves_only && first.is_channel() && op.out_peer < 0) {
    ReceiveChannel& in = channels_.receiver(first.peer, op.lane);
    if (in.receives_into_place()) return receive_in_place(instance, in, first.peer, bytes);
  }
  if (moves_only && !first.is_channel() && op.out_peer >= 0 && !op.writes && call.scale == 1.0) {
    SendChannel& out = channels_.sender(op.out_peer, op.lane);
    const bool may_change = op.rewritten && out.holds_places();
    if (out.sends_from_place() && !may_change) return send_in_place(instance, out, bytes);
  }
  if (!frames_arrived(instance, bytes)) return false;
  std::byte* slot = nullptr;
  if (op.out_peer >= 0) {
    const std::span<std::byte> free = channels_.sender(op.out_peer, op.lane).acquire();
    if (free.empty()) return false;
    if (free.size() < bytes)
      throw Error(ErrorCode::internal, "a message is longer than its slot",
                  {.rank = rank_, .peer = op.out_peer});
    slot = free.data();
  }
  if (channels_.have_checksums()) check_frames(instance);
  if (trace_ != nullptr) note_begin(instance, trace::Recorder::now());
  combine(instance, slot);
  if (op.out_peer >= 0) {
    channels_.sender(op.out_peer, op.lane)
        .commit(bytes, tag_of(instance.operation.fingerprint, {slot, bytes}));
    note_sent(instance, bytes);
  }
  for (const Operand& operand : call.plan->program.operands_of(op)) {
    if (operand.is_channel()) channels_.receiver(operand.peer, op.lane).release();
  }
  if (trace_ != nullptr) note_end(instance, bytes);
  return true;
}

/// Frames that move in place enter the kernel, which takes time: so the clock is read before.
std::int64_t Engine::time_if_traced() const {
  return trace_ == nullptr ? 0 : trace::Recorder::now();
}

void Engine::note_begin(const Instance& instance, std::int64_t time) const {
  const Operation& operation = instance.operation;
  trace_->op_began(operation.traced, number_of(operation, instance.op), instance.pass, time);
}

void Engine::note_end(const Instance& instance, std::size_t bytes) const {
  const Operation& operation = instance.operation;
  trace_->op_ended(operation.traced, number_of(operation, instance.op), instance.pass, bytes);
}

bool Engine::send_in_place(const Instance& instance, SendChannel& out, std::size_t bytes) {
  const std::byte* from = local(
      instance,
      instance.operation.prepared->plan->program.operands[instance.op.first_operand].chunk, 0);
  InPlace& frame = instance.in_place;
  if (channels_.have_checksums() && frame.checksum == 0) frame.checksum = crc32c({from, bytes});
  const std::span<const std::byte> rest{from + frame.moved, bytes - frame.moved};
  const std::int64_t before = time_if_traced();
  frame.moved += note_in_place(
      instance, before, out.send_from(rest, {instance.operation.fingerprint, frame.checksum}));
  if (frame.moved < bytes) return false;
  if (trace_ != nullptr) note_end(instance, bytes);
  note_sent(instance, bytes);
  return true;
}

/// A message is as many frames as there are passes in which it has bytes left.
void Engine::note_sent(const Instance& instance, std::size_t bytes) {
  count_frame(instance.op.out_peer, bytes, instance.pass == 0);
}

void Engine::count_frame(int peer, std::size_t bytes, bool first) {
  sent_.messages += first ? 1 : 0;
  ++sent_.frames;
  sent_.payload_bytes += bytes;
  sent_.header_bytes += channels_.frame_header_bytes(peer);
}

bool Engine::receive_in_place(const Instance& instance, ReceiveChannel& in, int peer,
                              std::size_t bytes) {
  InPlace& frame = instance.in_place;
  if (frame.moved == 0) {
    const std::optional<FrameHead> head = in.frame_head();
    if (!head || foreign(instance.operation, peer, head->tag.fingerprint)) return false;
    check_length(head->bytes, bytes, instance.operation.prepared->call, peer);
    frame.checksum = head->tag.checksum;
  }
  const std::span<std::byte> all{local(instance, instance.op.into, 0), bytes};
  const std::int64_t before = time_if_traced();
  frame.moved += note_in_place(instance, before, in.receive_into(all.subspan(frame.moved)));
  if (frame.moved < bytes) return false;
  check_payload(instance.operation, peer, all, frame.checksum);
  if (trace_ != nullptr) note_end(instance, bytes);
  return true;
}

std::uint32_t Engine::note_in_place(const Instance& instance, std::int64_t before,
                                    std::size_t bytes) {
  const std::uint32_t moved = instance.in_place.moved;
  if (is_progress(moved, bytes)) {
    moved_in_place_ = true;
    note_move(instance.operation);
  }
  if (trace_ != nullptr && bytes > 0 && moved == 0) note_begin(instance, before);
  return static_cast<std::uint32_t>(bytes);  // a frame is at most 1 MiB long
}

bool Engine::frames_arrived(const Instance& instance, std::size_t bytes) {
  const Op& op = instance.op;
  frames_.resize(std::max<std::size_t>(frames_.size(), op.operands));
  std::size_t index = 0;
  for (const Operand& operand : instance.operation.prepared->plan->program.operands_of(op)) {
    Frame& frame = frames_[index++];
    if (!operand.is_channel()) continue;
    const Frame* head = channels_.receiver(operand.peer, op.lane).peek();
    if (head == nullptr || foreign(instance.operation, operand.peer, head->tag.fingerprint))
      return false;
    frame = *head;
    check_length(frame.payload.size(), bytes, instance.operation.prepared->call, operand.peer);
  }
  return true;
}

/// Once, when the op goes on: until then frames_arrived() may be asked many times.
void Engine::check_frames(const Instance& instance) const {
  std::size_t index = 0;
  for (const Operand& operand :
       instance.operation.prepared->plan->program.operands_of(instance.op)) {
    const Frame& frame = frames_[index++];
    if (operand.is_channel())
      check_payload(instance.operation, operand.peer, frame.payload, frame.tag.checksum);
  }
}

void Engine::check_length(std::size_t came, std::size_t due, const Call& call, int peer) const {
  if (came == due) return;
  throw Error(ErrorCode::internal,
              "a frame of " + std::to_string(came) + " bytes came where " + std::to_string(due) +
                  " were due",
              {.rank = rank_, .peer = peer, .call = to_string(call)});
}

void Engine::combine(const Instance& instance, std::byte* slot) {
  const PreparedCall& call = *instance.operation.prepared;
  const Op& op = instance.op;
  std::size_t frame_offset = 0;
  for (std::uint32_t piece = 0; piece < pieces_of(call, op.extent); ++piece) {
    const std::size_t elements = piece_elements(call, op.extent, piece, instance.pass);
    if (elements == 0) continue;
    std::byte* in_slot = slot == nullptr ? nullptr : slot + frame_offset;
    std::byte* const kept = op.writes ? local(instance, op.into, piece) : nullptr;
    const bool streams = call.streaming && op.last;
    // The copy past the caches comes last: it reads what the first one just put into the cache.
    std::byte* const made = kept == nullptr || (streams && in_slot != nullptr) ? in_slot : kept;
    void* const again = made == kept ? in_slot : kept;
    if (made != nullptr)
      combine_piece(instance, made, streams && made == kept, piece, frame_offset, elements);
    if (again != nullptr) move(again, made, elements * call.element_bytes, streams);
    frame_offset += elements * call.element_bytes;
  }
}

void Engine::combine_piece(const Instance& instance, std::byte* destination, bool streaming,
                           std::uint32_t piece, std::size_t frame_offset, std::size_t elements) {
  const PreparedCall& call = *instance.operation.prepared;
  const auto operands = call.plan->program.operands_of(instance.op);
  sources_.clear();
  std::size_t staged = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.is_channel()) {
      sources_.push_back(frames_[i].payload.data() + frame_offset);
      continue;
    }
    const std::byte* source = local(instance, operand.chunk, piece);
    if (call.scale != 1.0 && operand.chunk.buffer == Buffer::input) {
      // At most one operand of an op is this rank's own input, so one staging slice is enough.
      const std::size_t bytes = elements * call.element_bytes;
      if (operands.size() == 1)
        return scale(call.call.type, destination, source, call.scale, elements);
      if (staged++ > 0)
        throw Error(ErrorCode::internal, "an op reads its input twice", {.rank = rank_});
      if (staging_.size() < bytes) staging_.resize(bytes);
      scale(call.call.type, staging_.data(), source, call.scale, elements);
      source = staging_.data();
    }
    sources_.push_back(source);
  }
  void* const to = destination;
  if (sources_.size() > 1) {
    combiner_.prepare(call, call.sum_scale, streaming);
    return combiner_({&to, 1}, sources_, elements);
  }
  if (sources_[0] != destination)
    move(destination, sources_[0], elements * call.element_bytes, streaming);
}

std::byte* Engine::local(const Instance& instance, const Chunk& chunk, std::uint32_t piece) {
  const PreparedCall& call = *instance.operation.prepared;
  const std::size_t index = wrapped(call, chunk, piece);
  const std::size_t skipped = static_cast<std::size_t>(instance.pass) * call.slicing.slice;
  switch (chunk.buffer) {
    case Buffer::input:
      // Read only; one address type for all buffers keeps this function single.
      return const_cast<std::byte*>(instance.operation.input) +
             (call.offsets[index] + skipped - call.input_begin) * call.element_bytes;
    case Buffer::output:
      return instance.operation.output +
             (call.offsets[index] + skipped - call.output_begin) * call.element_bytes;
    case Buffer::scratch:
      break;
  }
  const auto slots = static_cast<std::size_t>(call.plan->program.scratch_slots);
  const std::size_t beside =
      call.slicing.interleaved == 1 ? 0 : instance.pass % call.slicing.interleaved;
  const std::size_t slot = slots * beside + chunk.slot;
  const std::size_t within =
      call.slicing.passes == 1 ? call.offsets[index] : index * call.slicing.slice;
  return scratch_.data() + slot * call.scratch_slot_bytes + within * call.element_bytes;
}

}  // namespace rondo::detail
