#include "tools/trainer/strategy/strategy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tools/trainer/data/random.h"
#include "tools/trainer/model/gpt.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr std::array table{
    StrategyInfo{"ddp", false, false, false,
                 "every rank holds everything; gradients are all-reduced in buckets", "2f G",
                 "p + g + s"},
    StrategyInfo{"zero1", true, false, false,
                 "optimizer state is sharded; gradients are reduce-scattered once a step",
                 "f G + f W", "p + g + s/P"},
    StrategyInfo{"zero2", true, true, false,
                 "gradients are sharded, too: reduce-scattered in every micro-step", "A f G + f W",
                 "p + (g + s)/P"},
    StrategyInfo{"zero3", true, true, true,
                 "parameters are sharded, too: gathered layer by layer, then released",
                 "A f G + 2A f W", "(p + g + s)/P"},
    StrategyInfo{"hogwild", false, false, false,
                 "as ddp, but ranks do not wait: each puts what its step changed to the others", "",
                 ""},
    StrategyInfo{"local_sgd", false, false, false,
                 "the same after every --local-steps steps of its own", "", "", true},
};
constexpr std::size_t asynchronous_rows = 2;

/// Of what the command line does not refuse (options.cc).
void check_types(const StrategyOptions& options, bool on_device) {
  const bool narrow = options.precision != Precision::float32;
  const bool narrow_wire = options.wire != Precision::float32;
  require(!narrow || (options.wire == options.precision && !options.compresses()),
          "16-bit training sends all gradients, in the type that it computes in",
          "--wire and --compress only with --precision float32");
  require(!options.compresses() || (!narrow_wire && !options.sync_every_micro_step),
          "--compress takes float32 gradients once a step",
          "without --wire and --sync-every-micro-step");
  require(!on_device || (!narrow && !narrow_wire && !options.compresses()),
          "a GPU computes in float32 only, and sends all gradients in float32",
          "without --precision, --wire and --compress, or --device cpu");
}

void check_asynchronous(const StrategyOptions& options, bool on_device) {
  require(!on_device && options.precision == Precision::float32,
          options.kind + " puts float32 changes between CPUs",
          "without --device gpu and --precision");
  require(options.local_steps >= 1 && options.staleness >= 1,
          "--local-steps and --staleness count from 1", "--local-steps 8 --staleness 4");
}

const StrategyInfo& checked(const StrategyOptions& options, const Machine& machine) {
  check_types(options, machine.is_device());
  if (is_asynchronous(options)) check_asynchronous(options, machine.is_device());
  std::string known;
  for (const StrategyInfo& row : table) {
    if (row.name == options.kind) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  reject("there is no strategy '" + options.kind + "'", "one of: " + known);
}

Partition partition_of(const StrategyInfo& row, const Workplace& place,
                       const StrategyOptions& options) {
  const std::size_t elements =
      row.shards_parameters ? 0 : options.bucket_bytes / info(options.wire).bytes;
  if (!row.shards_state) return {place.layout, 1, 0, elements};
  return {place.layout, place.world.size(), place.world.rank(), elements};
}

}  // namespace

std::span<const StrategyInfo> strategies() {
  return std::span(table).first(table.size() - asynchronous_rows);
}
std::span<const StrategyInfo> asynchronous_strategies() {
  return std::span(table).last(asynchronous_rows);
}
bool is_asynchronous(const StrategyOptions& options) {
  const auto rows = asynchronous_strategies();
  return std::ranges::find(rows, options.kind, &StrategyInfo::name) != rows.end();
}

Strategy::Strategy(const Workplace& place, const StrategyOptions& options)
    : info_(checked(options, place.machine())),
      options_(options),
      world_(place.world),
      alone_(is_asynchronous(options) ? std::move(Communicator::from_threads(1).front())
                                      : Communicator()),
      place_{alone_ ? alone_ : world_, place.layout, place.optimizer, place.ledger, place.watch},
      partition_(partition_of(info_, place, options)),
      parameters_(place_, partition_, options_, info_),
      gradients_(place_, partition_, options_, info_) {
  const std::size_t size = partition_.own_size();
  if (is_narrow()) {
    master_ = {place.ledger, Use::master, size};
    constexpr std::size_t longest_run = 1U << 16;
    run_ = {place.ledger, Use::working, std::min(size, longest_run)};
  }
  for (std::size_t state = 0; state < place.optimizer.states(); ++state)
    states_.emplace_back(place.ledger, Use::optimizer, size);
  if (!alone_) return;
  const std::size_t steps = info_.has_local_steps ? options.local_steps : 1;
  exchange_.emplace(world_, place.ledger, place.layout.size(),
                    Asynchronous::Pace{steps, options.staleness});
}

void Strategy::start(std::uint64_t seed) {
  scalars_ = world_.dup();
  for (std::size_t unit = 0; unit < place_.layout.units().size(); ++unit) {
    const Unit& row = place_.layout.unit(unit);
    std::vector<float> values(row.size);
    if (world_.rank() == 0) start_values(row, seed, values);
    {
      const auto scope = place_.watch.in(Phase::communication);
      world_.broadcast(values, 0);
    }
    adopt(unit, values);
  }
  if (exchange_) exchange_->start(replica_parts());
}

void Strategy::adopt(std::size_t unit, std::span<const float> values) {
  parameters_.adopt(unit, values);
  if (!is_narrow()) return;
  const std::size_t segment = partition_.segment_of(unit);
  const Extent owned = partition_.owned(segment);
  const std::size_t unit_begin = place_.layout.unit(unit).begin;
  const std::size_t begin = std::max(owned.begin, unit_begin);
  const std::size_t end = std::min(owned.begin + owned.size, unit_begin + values.size());
  if (begin >= end) return;
  master_.write(partition_.segment(segment).own + begin - owned.begin,
                values.subspan(begin - unit_begin, end - begin));
}

void Strategy::before_backward(std::size_t unit) {
  parameters_.open(unit, Pass::backward);
  gradients_.open(unit);
}

void Strategy::after_backward(std::size_t unit) {
  gradients_.close(unit);
  parameters_.close(unit);
}

StepOutcome Strategy::step(const StepRequest& request) {
  const auto scope = place_.watch.in(Phase::optimizer);
  double squares = sum_of_squared_gradients();
  if (info_.shards_state) {
    const auto waiting = place_.watch.in(Phase::communication);
    scalars_.all_reduce(squares);
  }
  const double norm = std::sqrt(squares) * request.step.gradient_scale;
  if (request.skip_bad && !std::isfinite(norm)) return {norm, true};
  Step step = request.step;
  step.gradient_scale *= clip_scale(norm, request.clip);
  whole_ = false;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    const Range whole = range(segment);
    each_run(segment, [&](std::size_t begin, std::span<const float> gradients) {
      Range run = whole.part(begin, gradients.size());
      run.gradients = gradients;
      place_.optimizer.update(place_.machine(), run, step);
    });
    publish(segment);
  }
  if (exchange_) {
    const auto waiting = place_.watch.in(Phase::communication);
    exchange_->after_step(replica_parts());
  }
  whole_ = true;
  return {norm, false};
}

std::span<float> Strategy::master(std::size_t segment) {
  if (!is_narrow()) return parameters_.own(segment);
  return master_.span().subspan(partition_.segment(segment).own, partition_.owned(segment).size);
}

Range Strategy::range(std::size_t segment) {
  const Extent owned = partition_.owned(segment);
  Range range{owned.begin, master(segment), {}, {}};
  for (auto& state : states_)
    range.states.push_back(state.span().subspan(partition_.segment(segment).own, owned.size));
  return range;
}

template <class Visit>
void Strategy::each_run(std::size_t segment, Visit visit) {
  const Extent owned = partition_.owned(segment);
  const std::size_t longest = is_narrow() ? run_.size() : owned.size;
  for (std::size_t done = 0; done < owned.size; done += longest) {
    const std::size_t count = std::min(longest, owned.size - done);
    visit(done, gradients_.own(segment, {done, count}, run_.span()));
  }
}

double Strategy::sum_of_squared_gradients() {
  double squares = 0;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    each_run(segment, [&](std::size_t, std::span<const float> gradients) {
      squares += place_.machine().sum_of_squares(gradients);
    });
  }
  return squares;
}

void Strategy::publish(std::size_t segment) {
  if (is_narrow()) parameters_.write_own(segment, master(segment));
  parameters_.own_changed(segment);
}

Asynchronous::Replica Strategy::replica_parts() {
  Asynchronous::Replica parts;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment)
    parts.push_back(master(segment));
  return parts;
}

void Strategy::settle() {
  parameters_.settle();
  if (!exchange_) return;
  const auto waiting = place_.watch.in(Phase::communication);
  exchange_->settle(replica_parts());
}

std::optional<Staleness> Strategy::staleness() const {
  if (!exchange_) return std::nullopt;
  return exchange_->staleness();
}

std::vector<Range> Strategy::shards() {
  settle();
  return shards_now();
}

// Gathers under way read a rank's own block, and write only the blocks of the others.
std::vector<Range> Strategy::shards_now() {
  std::vector<Range> shards;
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) {
    if (partition_.owned(segment).size > 0) shards.push_back(range(segment));
  }
  return shards;
}

void Strategy::shards_changed() {
  for (std::size_t segment = 0; segment < partition_.segments().size(); ++segment) publish(segment);
}

}  // namespace rondo::train
