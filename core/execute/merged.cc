#include "core/execute/merged.h"

#include <algorithm>
#include <cstring>

#include "core/plan/sizes.h"

namespace rondo::detail {
namespace {

/// The first step of a rank that has shown its input after all. The end of stage n comes after it.
constexpr std::uint64_t shown_late = 1;

}  // namespace

MergedRun::MergedRun(int rank, int ranks, DirectAccess& access, ControlChannel& control,
                     bool oversubscribed)
    : rank_(rank),
      host_(rank, ranks, access, control, oversubscribed),
      memory_(rank, ranks, access),
      watch_(oversubscribed) {}

MergedRun::Result MergedRun::run(Operation& operation) {
  if (at_.phase == Phase::finished) begin(operation);
  bool moved = false;
  while (at_.phase != Phase::finished && advance()) {
    moved = true;
    if (at_.elements * operation.prepared->element_bytes >= slice_bytes) break;
  }
  if (at_.phase == Phase::finished) return by_messages_ ? Result::by_messages : Result::done;
  return moved ? Result::moved : Result::waiting;
}

// Inlined in one piece: each of its parts is a few instructions, and calling it costs as many.
[[gnu::flatten]] bool MergedRun::run_at_once(Operation& operation, std::uint32_t looks) {
  if (operation.prepared->shared->places == Places::buffers) return false;
  begin(operation);
  // No peer waits for this rank's slot, nor this rank for theirs: a disagreement shows where the
  // next call is read. But they wait for the control block, which needs every rank.
  if (call_->alone && host_.block() && trace_ == nullptr) {
    if (!call_->ops.empty()) {
      lay_out_shown();
      make_shown();
    }
    end();
    return true;
  }
  if (!shows_once() || !enter()) return false;
  at_.phase = Phase::gather;
  // While the slots travel.
  host_.claim_next(call_->shown_bytes);
  lay_out_shown();
  for (std::uint32_t look = 0; !gather(); ++look) {
    if (look == looks) return false;
  }
  at_.phase = after_gather();
  if (at_.phase != Phase::ops) return run(operation) == Result::done;
  make_shown();
  step(all_done, part_->awaited);
  end();
  return true;
}

void MergedRun::begin(Operation& operation) {
  operation_ = &operation;
  call_ = operation.prepared->shared.get();
  part_ = &call_->ordinary;
  by_messages_ = goes_by_messages();
  if (by_messages_) return;
  host_.begin();
  at_ = {.phase = Phase::enter};
  streaming_ = false;
}

WindowWatch::Kind MergedRun::kind() const {
  const Call& call = operation_->prepared->call;
  return {call.collective, call_->ordinary.bytes(), call.blocks != 0};
}

/// All ranks decide alike.
bool MergedRun::goes_by_messages() {
  return call_->places == Places::buffers && !watch_.looks(kind());
}

bool MergedRun::advance() {
  switch (at_.phase) {
    case Phase::enter:
      if (!enter()) return false;
      at_.phase = Phase::gather;
      return true;
    case Phase::gather:
      if (!gather()) return false;
      at_.phase = after_gather();
      return true;
    case Phase::late:
      if (!show_late()) return false;
      at_.phase = Phase::ops;
      return true;
    case Phase::reach:
      if (by_messages_) {
        step(all_done, host_.others());
        at_.phase = Phase::finished;
        return true;
      }
      if (!reach()) return false;
      at_.phase = Phase::ops;
      return true;
    case Phase::ops:
      if (!stage_begins()) return false;
      if (run_stage()) return true;
      end_stage();
      return true;
    case Phase::leave:
      if (!in_copies() && !host_.passed(part_->users, all_done)) return false;
      end();
      return true;
    case Phase::finished:
      break;
  }
  return false;
}

bool MergedRun::enter() {
  const bool some = in_copies() && !announces();
  if (!host_.is_open() || !host_.is_free(some ? part_->user_bits : host_.others_bits(), stages()))
    return false;
  if (announces())
    host_.slot().announcement =
        memory_.announce(*part_, call_->windows, operation_->input, operation_->output);
  if (in_copies() && !shows_late(rank_) && !part_->users.empty()) show_input();
  host_.publish(identity(), announces(), readers());
  if (trace_ != nullptr && at_.pass == 0) trace_->shown(operation_->traced);
  return true;
}

void MergedRun::show_input() {
  const std::size_t element_bytes = operation_->prepared->element_bytes;
  if (!in_passes()) {
    if (call_->shown_bytes == 0) return;
    std::memcpy(place_of_input(rank_), operation_->input, call_->shown_bytes);
    return;
  }
  const SharedPart::Held& input = part_->input(rank_);
  for (std::uint32_t i = 0; i < input.chunks; ++i) {
    const Chunk chunk{.buffer = Buffer::input, .first = input.first_chunk + i};
    const std::size_t count = part_->elements(chunk, at_.pass);
    if (count == 0) continue;
    const std::size_t from = part_->begin(chunk) + at_.pass * part_->slice - input.begin;
    std::memcpy(host_.block().staged(rank_, host_.call()) + i * part_->slice * element_bytes,
                operation_->input + from * element_bytes, count * element_bytes);
  }
}

bool MergedRun::gather() {
  const Ranks& awaited = this->awaited();
  for (; at_.waited < awaited.size(); ++at_.waited) {
    const std::int32_t peer = awaited[at_.waited];
    const SharedSlot* const slot = host_.in_call(peer, identity());
    if (slot == nullptr) return false;
    if (announces()) memory_.hear(peer, slot->announcement);
  }
  if (trace_ != nullptr && at_.pass == 0) trace_->seen(operation_->traced);
  if (awaited.size() == host_.others().size()) host_.all_are_here();
  if (announces()) decide();
  return true;
}

/// How the memory is reached: all ranks have read the same announcements.
void MergedRun::decide() {
  const bool all = memory_.all_in_windows();
  watch_.saw(kind(), all);
  if (all) part_ = &call_->windows;
  by_messages_ = !all && call_->places == Places::buffers;
  streaming_ = !in_copies() && operation_->prepared->results_bytes() >= cached_results;
}

MergedRun::Phase MergedRun::after_gather() {
  if (!in_copies()) return Phase::reach;
  if (!announces()) return Phase::ops;
  if (shows_late(rank_)) {
    show_input();
    host_.step(shown_late, part_->users);
  }
  return Phase::late;
}

/// Waits for the ranks whose windows were of no use, since not every rank had one.
bool MergedRun::show_late() {
  return std::ranges::all_of(part_->awaited, [&](std::int32_t peer) {
    return !shows_late(peer) || host_.reached(peer, shown_late);
  });
}

bool MergedRun::reach() {
  bool there = true;
  for (const std::int32_t peer : host_.others()) {
    if (std::ranges::count(part_->awaited, peer) > 0 && host_.is_gone(peer)) return false;
    there = memory_.reach(peer, *part_) && there;
  }
  return there;
}

void MergedRun::step(std::uint64_t done, const Ranks& waiting) {
  host_.step(done, waiting);
  const bool last = at_.pass + 1 == part_->passes;
  if (trace_ != nullptr && (done == all_done ? last : at_.pass == 0))
    trace_->stepped(operation_->traced, done == all_done ? 2 : 1, part_->form());
}

void MergedRun::end() {
  at_.phase = Phase::finished;
  given_.messages += part_->given.messages;
  given_.bytes += part_->given.bytes;
}

void MergedRun::withdraw(const std::function<void()>& look) noexcept {
  const bool entered = at_.phase != Phase::enter && at_.phase != Phase::finished;
  host_.withdraw(entered && announces(), look);
}

}  // namespace rondo::detail
