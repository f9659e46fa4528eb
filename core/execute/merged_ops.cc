// The ops of a merged program: where their operands and results lie, and making them. Part of
// MergedRun.
#include <algorithm>
#include <cstring>

#include "core/execute/merged.h"
#include "kernels/cpu/reduce.h"

namespace rondo::detail {
namespace {

/// Up to so many bytes finding the kernel that copies takes longer than copying.
constexpr std::size_t short_copy = 256;

}  // namespace

/// The ranks that made the stage's operands have ended the stage before.
bool MergedRun::stage_begins() {
  const auto stage = static_cast<std::size_t>(at_.stage);
  return stage == 0 || host_.passed(part_->touched[stage], stage);
}

void MergedRun::end_stage() {
  if (++at_.stage < part_->stages())
    return step(static_cast<std::uint64_t>(at_.stage), part_->users);
  step(all_done, shows_once() ? part_->awaited : host_.others());
  at_.phase = Phase::leave;
}

/// Does one slice, or in copies all there is. False when the stage has nothing left.
bool MergedRun::run_stage() {
  if (shows_once()) {
    lay_out_shown();
    make_shown();
    return false;
  }
  const std::vector<Op>& ops = part_->program().ops;
  for (; at_.op < ops.size() && ops[at_.op].stage == at_.stage; ++at_.op) {
    if (run_slice(ops[at_.op])) return true;
    at_.elements = 0;
  }
  return false;
}

/// False when the op has no elements left.
bool MergedRun::run_slice(const Op& op) {
  const std::size_t element_bytes = operation_->prepared->element_bytes;
  const std::size_t left = part_->elements(op.extent) - at_.elements;
  if (left == 0) return false;
  const std::size_t count = std::min(left, slice_bytes / element_bytes);
  find_outputs(op);
  find_sources(op, count * element_bytes);
  if (op.operands == 1) {
    copy(outputs_, sources_[0], count * element_bytes, streaming_);
  } else {
    prepare_to_combine();
    combine_(outputs_, sources_, count);
  }
  at_.elements += count;
  return true;
}

/// The own output first: the others' copies are made from cached lines.
void MergedRun::find_outputs(const Op& op) {
  const std::size_t element_bytes = operation_->prepared->element_bytes;
  const std::size_t element = part_->begin(op.into) + at_.elements;
  outputs_.clear();
  const auto add = [&](std::byte* base, std::int32_t rank) {
    outputs_.push_back(base + (element - part_->output(rank).begin) * element_bytes);
  };
  if (op.writes) add(operation_->output, rank_);
  for (const std::int32_t peer : part_->program().stores_of(op)) add(memory_.output(peer), peer);
  if (op.shown && in_copies())
    outputs_.push_back(host_.block().made(rank_, host_.call()) + element * element_bytes);
}

void MergedRun::find_sources(const Op& op, std::size_t bytes) {
  sources_.clear();
  for (const Operand& operand : part_->program().operands_of(op)) {
    if (const std::byte* const mapped = source(operand)) {
      sources_.push_back(mapped);
      continue;
    }
    // Only copies are fetched (core/plan/shared_rules.h): straight to their destination.
    auto* const into = static_cast<std::byte*>(outputs_[0]);
    memory_.fetch(operand.peer, operand.chunk.buffer, offset_of(operand, operand.peer),
                  {into, bytes});
    sources_.push_back(into);
  }
}

/// Where this slice of an operand lies; null where it must be fetched.
const std::byte* MergedRun::source(const Operand& operand) const {
  const std::int32_t rank = operand.is_local() ? rank_ : operand.peer;
  const std::size_t offset = offset_of(operand, rank);
  const bool made = operand.chunk.buffer == Buffer::output;
  if (operand.is_local()) return (made ? operation_->output : operation_->input) + offset;
  if (in_copies() && made)
    return host_.block().made(rank, host_.call()) +
           part_->output(rank).begin * operation_->prepared->element_bytes + offset;
  if (in_copies()) return shown_by(rank) + offset;
  const std::byte* const base = memory_.buffer(rank, operand.chunk.buffer);
  return base == nullptr ? nullptr : base + offset;
}

/// Bytes from the begin of the buffer of `rank`.
std::size_t MergedRun::offset_of(const Operand& operand, std::int32_t rank) const {
  const bool made = operand.chunk.buffer == Buffer::output;
  const std::size_t begin = (made ? part_->output(rank) : part_->input(rank)).begin;
  return (part_->begin(operand.chunk) + at_.elements - begin) * operation_->prepared->element_bytes;
}

const std::byte* MergedRun::shown_by(std::int32_t rank) const {
  if (rank == rank_) return operation_->input;
  return host_.block().shown(rank, host_.call(), part_->input_bytes(rank));
}

/// Copies and one stage: all that need not wait for the slots. The operands of every op in a row.
void MergedRun::lay_out_shown() {
  sources_.clear();
  for (const SharedCall::ShownOp& op : call_->ops) {
    for (const SharedCall::ShownOp::Source& source : op.sources)
      sources_.push_back(shown_by(source.rank) + source.bytes);
    if (op.sources.size() > 1) prepare_to_combine();
  }
}

void MergedRun::make_shown() {
  const void* const* operands = sources_.data();
  for (const SharedCall::ShownOp& op : call_->ops) {
    void* const output = operation_->output + op.output;
    if (op.sources.size() > 1) {
      combine_({&output, 1}, {operands, op.sources.size()}, op.count);
      operands += op.sources.size();
      continue;
    }
    const std::size_t bytes = op.count * operation_->prepared->element_bytes;
    const void* const source = *operands++;
    if (bytes > short_copy) {
      copy({&output, 1}, source, bytes, false);
    } else if (output != source) {
      std::memcpy(output, source, bytes);
    }
  }
}

}  // namespace rondo::detail
