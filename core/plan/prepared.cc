#include "core/plan/prepared.h"

#include <algorithm>
#include <utility>

#include "core/plan/sizes.h"
#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t cache_line = 64;

/// From here on a second synchronisation costs less than copying to the control block and reading
/// all of it.
constexpr std::size_t least_window_bytes = 4096;

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
  const auto abreast =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(largest / worth, 1, cut.abreast));
  if (largest <= most && abreast == 1) return {largest, 1};
  Slicing slicing{.passes = (largest + most - 1) / most, .abreast = abreast};
  slicing.passes = slicing.rounded_passes();
  // Even passes: the last one is no sliver that costs a round trip for nothing.
  const std::size_t even =
      aligned((largest + slicing.passes - 1) / slicing.passes + cache_line, prepared.element_bytes);
  slicing.slice = std::min(most, even);
  slicing.passes = (largest + slicing.slice - 1) / slicing.slice;
  if (slicing.passes == 1) slicing.abreast = 1;
  return slicing;
}

Given given_by(const DirectCall::Part& part, Collective collective) {
  if (is_token(collective)) return {part.plan.users.size(), 0};
  Given given;
  for (const std::int32_t chunk : part.plan.given) {
    const std::size_t elements = part.elements(chunk);
    given.messages += elements > 0 ? 1 : 0;
    given.bytes += elements * part.element_bytes;
  }
  return given;
}

/// Ranks do not wait for ranks from which they read nothing, as no empty message is sent: both
/// sides know it by the counts.
void leave_out_empty_blocks(DirectPlan& plan, Collective collective, Counts counts, int rank) {
  const bool of_reader =
      collective == Collective::reduce_scatter || collective == Collective::scatter;
  const auto is_empty = [&](std::int32_t reader, std::int32_t from) {
    return counts[static_cast<std::size_t>(of_reader ? reader : from)] == 0;
  };
  for (std::vector<std::int32_t>& touched : plan.touches)
    std::erase_if(touched, [&](std::int32_t from) { return is_empty(rank, from); });
  std::erase_if(plan.users, [&](std::int32_t reader) { return is_empty(reader, rank); });
}

DirectCall::Part direct_part(const DirectPlan& plan, const Call& call, Counts counts, int ranks,
                             int rank) {
  DirectCall::Part part{.plan = plan, .element_bytes = size_of(call.type)};
  if (!counts.empty()) leave_out_empty_blocks(part.plan, call.collective, counts, rank);
  const Layout& layout = plan.layout;
  const Partition partition = partition_of(call, counts, layout);
  part.offsets.reserve(static_cast<std::size_t>(layout.chunks()) + 1);
  for (int c = 0; c <= layout.chunks(); ++c) part.offsets.push_back(partition.offset(c));
  const auto elements = [&](Buffer buffer, int of) -> DirectCall::Part::Held {
    const ChunkSpan span = held(call.collective, buffer, layout, of, call.root);
    return {partition.offset(span.first), partition.offset(span.first + span.count)};
  };
  for (const std::int32_t user : part.plan.users) part.users |= std::uint64_t{1} << user;
  for (int of = 0; of < ranks; ++of) {
    part.inputs.push_back(elements(Buffer::input, of));
    part.outputs.push_back(elements(Buffer::output, of));
  }
  part.given = given_by(part, call.collective);
  return part;
}

/// Which ranks write into windows. Where one rank holds everything, the others fetch it, on their
/// own processors, instead of waiting for that rank to hand it out.
DirectMode window_mode(Collective collective) {
  const bool one_source = collective == Collective::broadcast || collective == Collective::scatter;
  return one_source ? DirectMode::one_shot : DirectMode::push;
}

std::vector<DirectCall::ShownMove> shown_moves(const DirectCall::Part& part, int rank) {
  std::vector<DirectCall::ShownMove> shown;
  shown.reserve(part.plan.rounds[0].size());
  for (const Move& move : part.plan.rounds[0]) {
    if (part.elements(move.source_chunk) == 0) continue;  // and perhaps no memory for it
    const auto offset_of = [&](std::int32_t chunk) {
      return part.offsets[static_cast<std::size_t>(chunk)];
    };
    DirectCall::ShownMove made{
        .output = (offset_of(move.chunk) - part.output(rank).begin) * part.element_bytes,
        .count = part.elements(move.source_chunk),
        .from = move.from};
    made.sources.reserve(part.inputs.size());
    for (const DirectCall::Part::Held& input : part.inputs)
      made.sources.push_back((offset_of(move.source_chunk) - input.begin) * part.element_bytes);
    shown.push_back(std::move(made));
  }
  return shown;
}

}  // namespace

std::shared_ptr<PreparedCall> prepare(std::shared_ptr<const Plan> plan, const Call& call, int rank,
                                      const Cut& cut, std::string reason, Counts counts) {
  const Schedule& schedule = plan->schedule;
  auto prepared = std::make_shared<PreparedCall>();
  prepared->plan = std::move(plan);
  prepared->call = call;
  prepared->call.sequence = 0;
  prepared->counts.assign(counts.begin(), counts.end());
  prepared->element_bytes = size_of(call.type);
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
      prepared->slicing.passes == 1
          ? partition.elements()
          : prepared->slicing.slice * prepared->slicing.abreast * static_cast<std::size_t>(chunks);
  prepared->scratch_bytes = slot_elements * prepared->element_bytes *
                            static_cast<std::size_t>(prepared->plan->program.scratch_slots);
  if (info(call.collective).reduces && call.op == ReduceOperator::avg) {
    if (is_float(call.type)) {
      (wants_rank_order(call) ? prepared->sum_scale : prepared->scale) = 1.0 / schedule.ranks;
    } else {
      prepared->divisor = static_cast<std::size_t>(schedule.ranks);
    }
  }
  return prepared;
}

std::shared_ptr<DirectCall> prepare_direct(const DirectChoice& choice, const Call& call,
                                           DirectPlans& plans, Counts counts) {
  const int ranks = plans.ranks();
  auto direct = std::make_shared<DirectCall>();
  direct->staged = choice.staged;
  direct->ordinary_memory = direct_part(plans.of(choice.mode), call, counts, ranks, plans.rank());
  direct->shown_bytes = direct->ordinary_memory.input_bytes(plans.rank());
  if (choice.staged && choice.mode == DirectMode::one_shot)
    direct->shown = shown_moves(direct->ordinary_memory, plans.rank());
  const DirectPlan& plan = direct->ordinary_memory.plan;
  direct->alone = choice.staged && choice.mode == DirectMode::one_shot && plan.users.empty() &&
                  plan.touches[0].empty();
  direct->offers_windows = choice.staged && choice.mode == DirectMode::one_shot &&
                           call.collective == Collective::all_reduce &&
                           direct->ordinary_memory.bytes() >= least_window_bytes;
  if (!choice.staged || direct->offers_windows)
    direct->windows =
        direct_part(plans.of(window_mode(call.collective)), call, counts, ranks, plans.rank());
  return direct;
}

}  // namespace rondo
