#include "core/plan/shared.h"

#include <algorithm>
#include <string>

#include "algorithms/table.h"
#include "core/plan/shared_rules.h"
#include "core/plan/sizes.h"
#include "core/schedule/collective.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// From here on a second synchronisation costs less than copying to the control block and reading
/// all of it: for all_reduces, of which each rank then makes a share ...
constexpr std::size_t least_window_bytes = 4096;
/// ... and for all others.
constexpr std::size_t least_moved_window_bytes = std::size_t{1} << 20;

Given given_by(const SharedPart& part, Collective collective) {
  const Program& program = part.program();
  if (is_token(collective)) return {part.users.size(), 0};
  Given given;
  const auto give = [&](const Chunk& chunk) {
    const std::size_t elements = part.elements(chunk);
    given.messages += elements > 0 ? 1 : 0;
    given.bytes += elements * part.element_bytes;
  };
  for (const Use& use : program.uses)
    if (!use.stores) give(use.chunk);
  for (const Op& op : program.ops)
    for (std::uint32_t store = 0; store < op.stores; ++store) give(op.into);
  return given;
}

void add(std::vector<std::int32_t>& ranks, std::int32_t rank) {
  if (std::ranges::count(ranks, rank) == 0) ranks.push_back(rank);
}

/// Who touches whose memory, if there is anything at all to exchange.
void find_touched(SharedPart& part, bool token) {
  const Program& program = part.program();
  part.touched.resize(static_cast<std::size_t>(program.stages));
  for (const Op& op : program.ops) {
    if (!token && part.elements(op.extent) == 0) continue;
    for (const Operand& operand : program.operands_of(op))
      if (operand.in_place) add(part.touched[op.stage], operand.peer);
    for (const std::int32_t peer : program.stores_of(op)) add(part.touched[op.stage], peer);
  }
  for (const auto& ranks : part.touched)
    for (const std::int32_t rank : ranks) add(part.awaited, rank);
  for (const Use& use : program.uses)
    if (token || part.elements(use.chunk) > 0) add(part.users, use.rank);
  for (const std::int32_t user : part.users) part.user_bits |= std::uint64_t{1} << user;
}

/// Every pass fits what a rank can show.
void cut(SharedPart& part, std::size_t most_bytes) {
  const auto chunks = static_cast<std::uint32_t>(part.plan->layout.chunks());
  std::size_t shown = part.shows_results() ? part.bytes() : 0;
  std::uint32_t most_chunks = part.shows_results() ? chunks : 1;
  for (const SharedPart::Held& input : part.inputs) {
    shown = std::max(shown, (input.end - input.begin) * part.element_bytes);
    most_chunks = std::max(most_chunks, input.chunks);
  }
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
    part.slice = std::max(part.slice, part.offsets[chunk + 1] - part.offsets[chunk]);
  if (shown <= most_bytes) return;
  const std::size_t largest = part.slice;
  part.slice = most_bytes / most_chunks / cache_line * cache_line / part.element_bytes;
  part.passes = (largest + part.slice - 1) / part.slice;
}

SharedPart part_of(std::shared_ptr<const SharedPlan> plan, const Call& call, Counts counts,
                   int ranks) {
  SharedPart part{.plan = std::move(plan), .element_bytes = element_bytes(call)};
  const Layout& layout = part.plan->layout;
  const Partition partition = partition_of(call, counts, layout);
  part.offsets.reserve(static_cast<std::size_t>(layout.chunks()) + 1);
  for (int c = 0; c <= layout.chunks(); ++c) part.offsets.push_back(partition.offset(c));
  const auto elements = [&](Buffer buffer, int of) -> SharedPart::Held {
    const ChunkSpan span = held(call.collective, buffer, layout, of, call.root);
    return {partition.offset(span.first), partition.offset(span.first + span.count),
            static_cast<std::uint32_t>(span.first), static_cast<std::uint32_t>(span.count)};
  };
  for (int of = 0; of < ranks; ++of) {
    part.inputs.push_back(elements(Buffer::input, of));
    part.outputs.push_back(elements(Buffer::output, of));
  }
  find_touched(part, is_token(call.collective));
  part.given = given_by(part, call.collective);
  if (part.program().places == Places::copies) cut(part, stage_bytes(ranks));
  return part;
}

/// In windows sums of whole vectors are made in shares and stored to whoever wants them. Where one
/// rank holds everything, the others fetch it on their own processors.
std::shared_ptr<const SharedPlan> in_windows(const SharedChoice& choice, Collective collective,
                                             SharedPlans& plans) {
  const bool shares = makes_shares(collective);
  const auto made =
      plans.of(shares ? shares_in_windows : choice.algorithm,
               {.places = Places::buffers, .posted = shares ? Posted::sums : Posted::none});
  return made || !shares ? made : plans.of(choice.algorithm, {.places = Places::buffers});
}

/// What calls in shared memory run: single chunks, of the callers' buffers.
bool is_simple(const Program& program) {
  const auto is_single = [](const Op& op) { return op.extent.count == 1; };
  return program.scratch_slots == 0 && std::ranges::all_of(program.ops, is_single);
}

/// With more stages, the slices of a program over channels overlap better than these wait. Between two
/// ranks a second look at copies takes as long as two messages, and the copies come on top.
int most_stages(const Schedule& written, Places places) {
  return written.ranks == 2 && places == Places::copies ? 1 : 2;
}

/// All ranks find the same.
bool serves(const Schedule& written, Places places, const std::vector<Program>& programs) {
  return std::ranges::all_of(programs, is_simple) &&
         programs[0].stages <= most_stages(written, places) && verify(written, programs).ok();
}

std::vector<SharedCall::ShownOp> shown_ops(const SharedPart& part, int rank) {
  std::vector<SharedCall::ShownOp> shown;
  for (const Op& op : part.program().ops) {
    if (part.elements(op.extent) == 0) continue;  // and perhaps no memory for it
    SharedCall::ShownOp made{
        .output = (part.begin(op.into) - part.output(rank).begin) * part.element_bytes,
        .count = part.elements(op.extent)};
    for (const Operand& operand : part.program().operands_of(op)) {
      const bool own = operand.chunk.buffer == Buffer::output;  // a peer's is of a stage before
      const std::int32_t of = operand.is_local() ? rank : operand.peer;
      const std::size_t begin = (own ? part.output(of) : part.input(of)).begin;
      made.sources.push_back({own ? SharedCall::ShownOp::Source::own_output : of,
                              (part.begin(operand.chunk) - begin) * part.element_bytes});
    }
    shown.push_back(std::move(made));
  }
  return shown;
}

}  // namespace

Schedule SharedPlans::schedule_of(std::string_view algorithm) const {
  if (written_) return *written_;
  const Algorithm* const row = find_algorithm(collective_, algorithm);
  if (row == nullptr)
    throw Error(ErrorCode::internal,
                "no algorithm " + std::string(algorithm) + " of " + std::string(name(collective_)));
  return row->build(ranks_, root_);
}

std::shared_ptr<const SharedPlan> SharedPlans::of(std::string_view algorithm,
                                                  const Sharing& sharing) {
  const Key key{written_ ? "" : algorithm, sharing};
  for (const auto& [known, plan] : plans_)
    if (known == key) return plan;
  const Schedule schedule = schedule_of(algorithm);
  auto programs = merge(schedule, sharing);
  if (written_ && !(programs && serves(*written_, sharing.places, *programs)))
    return plans_.emplace_back(key, nullptr).second;
  if (!programs || !is_simple((*programs)[static_cast<std::size_t>(rank_)]))
    throw Error(ErrorCode::internal, "calls in shared memory cannot run " + schedule.algorithm);
  auto plan = std::make_shared<const SharedPlan>(
      SharedPlan{schedule.algorithm, sharing.posted, schedule.layout,
                 std::move((*programs)[static_cast<std::size_t>(rank_)])});
  plans_.emplace_back(key, plan);
  return plan;
}

std::shared_ptr<SharedCall> prepare_shared(const SharedChoice& choice, const Call& call,
                                           SharedPlans& plans, Counts counts) {
  const auto part = [&](std::shared_ptr<const SharedPlan> plan) {
    return part_of(std::move(plan), call, counts, plans.ranks());
  };
  const auto ordinary = plans.of(choice.algorithm, {.places = choice.places});
  if (!ordinary) {
    const bool in_windows = choice.places == Places::copies &&
                            call.collective == Collective::all_reduce &&
                            call.count * element_bytes(call) >= least_window_bytes;
    return in_windows ? prepare_shared({choice.algorithm, Places::buffers}, call, plans, counts)
                      : nullptr;
  }
  auto shared = std::make_shared<SharedCall>();
  shared->places = choice.places;
  shared->ordinary = part(ordinary);
  shared->shown_bytes = shared->ordinary.input_bytes(plans.rank());
  const bool one_look = choice.places == Places::copies && shared->ordinary.stages() == 1 &&
                        shared->ordinary.passes == 1;
  if (one_look) shared->ops = shown_ops(shared->ordinary, plans.rank());
  shared->alone = one_look && shared->ordinary.users.empty() && shared->ordinary.awaited.empty();
  const bool shares = call.collective == Collective::all_reduce;
  shared->offers_windows =
      choice.places == Places::copies && reads_windows(call.collective) &&
      shared->ordinary.bytes() >= (shares ? least_window_bytes : least_moved_window_bytes);
  if (choice.places != Places::buffers && !shared->offers_windows) return shared;
  const auto windows = in_windows(choice, call.collective, plans);
  if (windows) {
    shared->windows = part(windows);
  } else if (choice.places == Places::buffers) {
    return nullptr;
  } else {
    shared->offers_windows = false;
  }
  return shared;
}

}  // namespace rondo
