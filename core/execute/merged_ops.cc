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
  return stage == 0 || host_.passed(part_->touched[stage], stage + 1);
}

void MergedRun::end_stage() {
  if (++at_.stage < part_->stages())
    return step(static_cast<std::uint64_t>(at_.stage) + 1, part_->users);
  step(all_done, awaited());
  if (at_.pass + 1 == part_->passes) {
    at_.phase = Phase::leave;
  } else {
    host_.begin();
    at_ = {.phase = Phase::enter, .pass = at_.pass + 1};
  }
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
  const std::size_t left = part_->elements(op.extent, at_.pass) - at_.elements;
  if (left == 0) return false;
  const std::size_t count = std::min(left, slice_bytes / element_bytes);
  find_outputs(op);
  find_sources(op);
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
  const std::size_t done = at_.pass * part_->slice + at_.elements;
  outputs_.clear();
  const auto add = [&](std::byte* base, std::int32_t rank) {
    const std::size_t element = part_->begin(op.into) + done - part_->output(rank).begin;
    outputs_.push_back(base + element * element_bytes);
  };
  if (op.writes) add(operation_->output, rank_);
  for (const std::int32_t peer : part_->program().stores_of(op)) add(memory_.output(peer), peer);
  if (op.shown && in_copies()) outputs_.push_back(made_by(rank_, op.into));
}

void MergedRun::find_sources(const Op& op) {
  sources_.clear();
  for (const Operand& operand : part_->program().operands_of(op))
    sources_.push_back(source(operand));
}

/// Where this slice of an operand lies.
const std::byte* MergedRun::source(const Operand& operand) const {
  const Chunk& chunk = operand.chunk;
  const std::int32_t rank = operand.is_local() ? rank_ : operand.peer;
  const bool made = chunk.buffer == Buffer::output;
  if (in_copies() && !operand.is_local())
    return made ? made_by(rank, chunk) : staged_by(rank, chunk);
  const std::byte* base = memory_.buffer(rank, chunk.buffer);
  if (operand.is_local()) base = made ? operation_->output : operation_->input;
  const std::size_t begin = (made ? part_->output(rank) : part_->input(rank)).begin;
  const std::size_t element = part_->begin(chunk) + at_.pass * part_->slice + at_.elements;
  return base + (element - begin) * operation_->prepared->element_bytes;
}

/// A chunk of what a rank shows of its input. In passes each chunk's slice has a place of its own.
const std::byte* MergedRun::staged_by(std::int32_t rank, const Chunk& chunk) const {
  const SharedPart::Held& input = part_->input(rank);
  const std::size_t element = in_passes() ? (chunk.first - input.first_chunk) * part_->slice
                                          : part_->begin(chunk) - input.begin;
  const std::byte* const base =
      in_passes() ? host_.block().staged(rank, host_.call()) : shown_by(rank);
  return base + (element + at_.elements) * operation_->prepared->element_bytes;
}

/// The same of what it has made.
std::byte* MergedRun::made_by(std::int32_t rank, const Chunk& chunk) const {
  const std::size_t element = in_passes() ? chunk.first * part_->slice : part_->begin(chunk);
  return host_.block().made(rank, host_.call()) +
         (element + at_.elements) * operation_->prepared->element_bytes;
}

const std::byte* MergedRun::shown_by(std::int32_t rank) const {
  return rank == rank_ ? operation_->input : place_of_input(rank);
}

std::byte* MergedRun::place_of_input(std::int32_t rank) const {
  return host_.block().shown(rank, host_.call(), part_->input_bytes(rank), announces());
}

/// Copies and one stage: all that need not wait for the slots. The operands of every op in a row.
void MergedRun::lay_out_shown() {
  sources_.clear();
  for (const SharedCall::ShownOp& op : call_->ops) {
    for (const SharedCall::ShownOp::Source& source : op.sources) {
      const bool made = source.rank == SharedCall::ShownOp::Source::own_output;
      sources_.push_back((made ? operation_->output : shown_by(source.rank)) + source.bytes);
    }
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
