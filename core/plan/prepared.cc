#include "core/plan/prepared.h"

#include <algorithm>
#include <utility>

#include "core/plan/sizes.h"
#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// `elements` cut down to whole cache lines where it holds at least one.
std::size_t aligned(std::size_t elements, std::size_t element_bytes) {
  const std::size_t unit = std::max<std::size_t>(1, cache_line / element_bytes);
  return elements < unit ? elements : elements - elements % unit;
}

/// By the largest chunk: the others have nothing left to move in the last passes, which costs them
/// nothing.
Slicing slice(const PreparedCall& prepared, const Partition& partition, const Cut& cut) {
  const std::size_t largest = partition.largest_chunk();
  const std::size_t longest = static_cast<std::size_t>(prepared.plan->longest);
  std::size_t most =
      partition.longest_slice(prepared.plan->longest, cut.frame_bytes / prepared.element_bytes);
  most = std::max<std::size_t>(1, aligned(most, prepared.element_bytes));
  const std::size_t worth =
      std::max<std::size_t>(1, cut.worth_bytes / prepared.element_bytes / longest);
  const auto interleaved =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(largest / worth, 1, cut.interleaved));
  if (largest <= most && interleaved == 1) return {largest, 1};
  Slicing slicing{.passes = (largest + most - 1) / most, .interleaved = interleaved};
  slicing.passes = slicing.rounded_passes();
  // Even passes: the last one is no sliver that costs a round trip for nothing.
  const std::size_t even =
      aligned((largest + slicing.passes - 1) / slicing.passes + cache_line, prepared.element_bytes);
  slicing.slice = std::min(most, even);
  slicing.passes = (largest + slicing.slice - 1) / slicing.slice;
  if (slicing.passes == 1) slicing.interleaved = 1;
  return slicing;
}

ShortOp::Place place_of(const PreparedCall& call, const Chunk& run) {
  std::size_t begin = 0;
  if (run.buffer == Buffer::input) begin = call.input_begin;
  if (run.buffer == Buffer::output) begin = call.output_begin;
  const std::size_t slot = run.buffer == Buffer::scratch ? run.slot * call.scratch_slot_bytes : 0;
  return {.buffer = run.buffer,
          .offset = slot + (call.offsets[run.first] - begin) * call.element_bytes};
}

/// False where a run of the op wraps, so that it is several pieces.
bool add_short_op(PreparedCall& call, const Op& op, std::size_t bytes) {
  const auto is_piece = [&](const Chunk& run) {
    return run.first + run.count <= static_cast<std::uint32_t>(call.chunks());
  };
  ShortOp made{.elements = bytes / call.element_bytes,
               .bytes = bytes,
               .first_source = static_cast<std::uint32_t>(call.short_sources.size()),
               .out_peer = op.out_peer,
               .lane = op.lane,
               .writes = op.writes};
  if (!is_piece(op.extent) || (op.writes && !is_piece(op.into))) return false;
  if (op.writes) made.into = place_of(call, op.into);
  for (const Operand& operand : call.plan->program.operands_of(op)) {
    if (bytes == 0 && !call.tokens) break;  // both ends know that there is nothing to say
    if (operand.is_local() && !is_piece(operand.chunk)) return false;
    ShortOp::Place source{.peer = operand.peer};
    if (operand.is_local()) source = place_of(call, operand.chunk);
    call.short_sources.push_back(source);
    ++made.sources;
  }
  call.short_ops.push_back(made);
  return true;
}

void find_short_ops(PreparedCall& call) {
  if (call.slicing.passes > 1 || call.scale != 1.0 || call.streaming) return;
  const std::vector<Op>& ops = call.plan->program.ops;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (!add_short_op(call, ops[i], call.op_bytes[i])) return call.short_ops.clear();
}

}  // namespace

std::shared_ptr<PreparedCall> prepare(std::shared_ptr<const Plan> plan, const Call& call, int rank,
                                      const Cut& cut, std::string reason, Counts counts) {
  const Schedule& schedule = plan->schedule;
  auto prepared = std::make_shared<PreparedCall>();
  prepared->plan = std::move(plan);
  prepared->call = call;
  prepared->call.sequence = 0;
  if (call.own != nullptr) prepared->call.own = &prepared->own.emplace(*call.own);
  prepared->counts.assign(counts.begin(), counts.end());
  prepared->element_bytes = element_bytes(call);
  prepared->reason = std::move(reason);
  // An empty message is sent all the same: the other side may not agree that it is empty.
  prepared->tokens = call.collective == Collective::barrier ||
                     (call.collective == Collective::send_recv && call.count == 0);

  const int chunks = schedule.layout.chunks();
  const Partition partition = partition_of(call, counts, schedule.layout);
  for (int c = 0; c <= chunks; ++c) prepared->offsets.push_back(partition.offset(c));
  const auto begin = [&](ChunkSpan span) { return partition.offset(span.first); };
  const ChunkSpan in = held(call.collective, Buffer::input, schedule.layout, rank, schedule.root);
  const ChunkSpan out = held(call.collective, Buffer::output, schedule.layout, rank, schedule.root);
  prepared->input_begin = begin(in);
  prepared->output_begin = begin(out);
  prepared->input_elements = partition.offset(in.first + in.count) - begin(in);
  prepared->output_elements = partition.offset(out.first + out.count) - begin(out);
  // With two ranks, one that only receives waits for lines of the other's cache. Stores past the
  // caches would hold those up.
  const std::size_t cached =
      call.collective == Collective::all_reduce ? cached_sent_on : cached_results;
  prepared->streaming =
      prepared->results_bytes() >= cached && (schedule.ranks > 2 || prepared->input_elements > 0);

  const std::size_t shortest_frame =
      static_cast<std::size_t>(prepared->plan->longest) * prepared->element_bytes;
  if (cut.frame_bytes < shortest_frame) {
    throw Error(ErrorCode::configuration,
                "slots of " + std::to_string(cut.frame_bytes) +
                    " bytes are too small for a message of " +
                    std::to_string(prepared->plan->longest) + " chunks of " +
                    std::string(name(call.collective)) + " by " + schedule.algorithm,
                {.rank = rank,
                 .remedy = "RONDO_SLOT_BYTES=" + std::to_string(shortest_frame) +
                           " or more, or another algorithm"});
  }
  prepared->slicing = slice(*prepared, partition, cut);
  if (prepared->slicing.passes == 1) {
    for (const Op& op : prepared->plan->program.ops)
      prepared->op_bytes.push_back(partition.size(op.extent) * prepared->element_bytes);
  }
  const std::size_t slot_elements =
      prepared->slicing.passes == 1 ? partition.elements()
                                    : prepared->slicing.slice * static_cast<std::size_t>(chunks);
  prepared->scratch_slot_bytes = slot_elements * prepared->element_bytes;
  prepared->scratch_bytes = prepared->scratch_slot_bytes * prepared->slicing.interleaved *
                            static_cast<std::size_t>(prepared->plan->program.scratch_slots);
  if (info(call.collective).reduces && call.op == ReduceOperator::avg) {
    if (is_float(call.type)) {
      (wants_rank_order(call) ? prepared->sum_scale : prepared->scale) = 1.0 / schedule.ranks;
    } else {
      prepared->divisor = static_cast<std::size_t>(schedule.ranks);
    }
  }
  find_short_ops(*prepared);
  return prepared;
}

}  // namespace rondo
