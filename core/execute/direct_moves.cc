// The moves of a direct plan: where their operands and results lie, and making them. Part of
// DirectEngine.
#include <algorithm>
#include <cstring>

#include "core/execute/direct.h"

namespace rondo::detail {
namespace {

/// Up to so many bytes finding the kernel that copies takes longer than copying.
constexpr std::size_t short_copy = 256;

}  // namespace

/// Staged and one_shot: all that need not wait for the posts. The operands of every move in a row.
void DirectEngine::lay_out_shown() {
  sources_.clear();
  for (const DirectCall::ShownMove& move : call_->shown) {
    const auto add = [&](std::int32_t peer) {
      sources_.push_back(shown_by(peer) + move.sources[static_cast<std::size_t>(peer)]);
    };
    if (move.from != Move::everyone) {
      add(move.from);
      continue;
    }
    for (std::int32_t peer = 0; peer < static_cast<std::int32_t>(move.sources.size()); ++peer)
      add(peer);
    find_reduction();
  }
}

void DirectEngine::make_shown() {
  const void* const* operands = sources_.data();
  for (const DirectCall::ShownMove& move : call_->shown) {
    void* const output = operation_->output + move.output;
    if (move.from != Move::everyone) {
      const std::size_t bytes = move.count * operation_->prepared->element_bytes;
      const void* const source = *operands++;
      if (bytes > short_copy) {
        copy({&output, 1}, source, bytes, false);
      } else if (output != source) {
        std::memcpy(output, source, bytes);
      }
      continue;
    }
    reduction_({&output, 1}, {operands, move.sources.size()}, move.count);
    operands += move.sources.size();
  }
}

const std::byte* DirectEngine::shown_by(std::int32_t peer) const {
  if (peer == rank_) return operation_->input;
  if (!staged_) return inputs_[static_cast<std::size_t>(peer)];
  return board_.shown(peer, number_, part_->input_bytes(peer));
}

/// Keeps the reduction of this call at hand.
void DirectEngine::find_reduction() {
  const PreparedCall& prepared = *operation_->prepared;
  const ReduceOperator op =
      prepared.call.op == ReduceOperator::avg ? ReduceOperator::sum : prepared.call.op;
  const Combination wanted{.type = prepared.call.type,
                           .op = op,
                           .factor = prepared.scale * prepared.sum_scale,
                           .streaming = streaming_,
                           .accumulate = prepared.call.accumulate};
  if (reduction_.combination() != wanted) reduction_ = ReductionKernel(wanted);
}

/// Does one slice. False when the round has nothing left.
bool DirectEngine::round(std::size_t number) {
  const std::vector<Move>& moves = part().plan.rounds[number];
  while (move_ < moves.size()) {
    if (slice(number, moves[move_])) return true;
    ++move_;
    elements_ = 0;
  }
  move_ = 0;
  return false;
}

/// False when the move has no elements left.
bool DirectEngine::slice(std::size_t number, const Move& move) {
  const PreparedCall& prepared = *operation_->prepared;
  const std::size_t element_bytes = prepared.element_bytes;
  const std::size_t left = part().elements(move.source_chunk) - elements_;
  if (left == 0) return false;
  const bool staging = move.from == Move::everyone && !all_mapped(number, move);
  const std::size_t most = (staging ? copied_slice_bytes : mapped_slice_bytes) / element_bytes;
  const std::size_t count = std::min(left, most);
  collect_outputs(move);
  collect_sources(number, move, count * element_bytes);
  if (move.from != Move::everyone) {
    copy(destinations_, sources_[0], count * element_bytes, streaming_);
  } else {
    find_reduction();
    reduction_(destinations_, sources_, count);
  }
  elements_ += count;
  return true;
}

bool DirectEngine::is_mapped(std::size_t number, std::int32_t peer) const {
  const auto at = static_cast<std::size_t>(peer);
  return is_staged() || peer == rank_ || (number == 1 ? outputs_ : inputs_)[at] != nullptr;
}

bool DirectEngine::all_mapped(std::size_t number, const Move& move) const {
  if (move.from != Move::everyone) return is_mapped(number, move.from);
  return std::all_of(others_.begin(), others_.end(),
                     [&](std::int32_t peer) { return is_mapped(number, peer); });
}

void DirectEngine::collect_outputs(const Move& move) {
  const std::size_t element_bytes = operation_->prepared->element_bytes;
  const std::size_t element = part().offsets[static_cast<std::size_t>(move.chunk)] + elements_;
  destinations_.clear();
  for (const std::int32_t peer : move.into) {
    std::byte* const base =
        peer == rank_ ? operation_->output : outputs_[static_cast<std::size_t>(peer)];
    destinations_.push_back(base + (element - part().output(peer).begin) * element_bytes);
  }
  if (move.shown && is_staged())
    destinations_.push_back(board_.stage_out(rank_, number_) + element * element_bytes);
}

void DirectEngine::collect_sources(std::size_t number, const Move& move, std::size_t bytes) {
  const std::size_t element =
      part().offsets[static_cast<std::size_t>(move.source_chunk)] + elements_;
  sources_.clear();
  std::size_t staged = 0;
  const auto add = [&](std::int32_t peer) {
    if (is_mapped(number, peer)) return sources_.push_back(source(number, peer, element));
    // A copy goes straight to its destination; operands wait in the staging slices.
    std::byte* const into = move.from != Move::everyone
                                ? static_cast<std::byte*>(destinations_[0])
                                : staging_.data() + staged++ * copied_slice_bytes;
    access_.get(peer, source_address(number, peer, element), {into, bytes});
    sources_.push_back(into);
  };
  if (move.from != Move::everyone) return add(move.from);
  for (std::int32_t peer = 0; peer <= static_cast<std::int32_t>(others_.size()); ++peer) add(peer);
}

const std::byte* DirectEngine::source(std::size_t number, std::int32_t peer,
                                      std::size_t element) const {
  const std::size_t element_bytes = operation_->prepared->element_bytes;
  const auto at = static_cast<std::size_t>(peer);
  if (number == 1) {
    if (is_staged()) return board_.stage_out(peer, number_) + element * element_bytes;
    return outputs_[at] + (element - part().output(peer).begin) * element_bytes;
  }
  const std::byte* const base = shown_by(peer);
  return base + (element - part().input(peer).begin) * element_bytes;
}

std::uint64_t DirectEngine::source_address(std::size_t number, std::int32_t peer,
                                           std::size_t element) const {
  const Announcement& place = announcements_[static_cast<std::size_t>(peer)];
  const std::size_t begin = number == 1 ? part().output(peer).begin : part().input(peer).begin;
  return (number == 1 ? place.output : place.input).address +
         (element - begin) * operation_->prepared->element_bytes;
}

}  // namespace rondo::detail
