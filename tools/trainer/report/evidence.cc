// Collects from a run the evidence that is compared with formulas.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "bench/common/gather.h"
#include "core/settings/settings.h"
#include "core/transport/host.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/report/validation.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr std::string_view directly = "direct ";

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Collective: medians over the steps, for the slowest and the least delayed rank of each step.
void add_seconds(Communicator& world, const std::vector<StepRecord>& steps, Evidence& evidence) {
  const auto each = [&](std::initializer_list<Phase> phases) {
    std::vector<double> seconds;
    // The first step makes connections and touches memory, so it does not count.
    for (std::size_t step = steps.size() > 1 ? 1 : 0; step < steps.size(); ++step) {
      seconds.push_back(0);
      for (const Phase phase : phases)
        seconds.back() += steps[step].phases[static_cast<std::size_t>(phase)];
    }
    return seconds;
  };
  auto compute = each({Phase::forward, Phase::backward, Phase::optimizer});
  auto exposed = each({Phase::communication});
  world.all_reduce(compute, ReduceOperator::max);
  world.all_reduce(exposed, ReduceOperator::min);
  evidence.step = median(each({Phase::other, Phase::data, Phase::forward, Phase::backward,
                               Phase::communication, Phase::optimizer}));
  evidence.compute = median(std::move(compute));
  evidence.exposed = median(std::move(exposed));
}

/// The algorithm in a text of describe(): "double_tree" from "double_tree over tcp (forced)"; for a
/// direct call, the algorithm that it consists of.
std::string algorithm_of(const std::string& described) {
  const std::size_t begin = described.starts_with(directly) ? directly.size() : 0;
  return described.substr(begin, described.find(' ', begin) - begin);
}

/// The algorithm of the step's calls of mean size. `settled` becomes false if a smaller or larger
/// call uses another algorithm, or goes directly.
std::string carrier(Communicator& world, Collective collective, const Traits& traits,
                    bool& settled) {
  const std::size_t blocks =
      collective == Collective::all_reduce ? 1 : static_cast<std::size_t>(world.size());
  const std::size_t mean = traits.parameters / traits.calls / blocks;
  const std::size_t most = (traits.parameters + traits.padding) / blocks;  // no call is larger
  const auto words = [&](std::size_t elements) {
    return world.describe(collective, std::max<std::size_t>(1, elements), DataType::float32);
  };
  const std::string algorithm = algorithm_of(words(mean));
  std::vector<std::size_t> sizes{mean, most};
  for (std::size_t elements = 1; elements < most; elements *= 2) sizes.push_back(elements);
  settled = settled && std::ranges::all_of(sizes, [&](std::size_t elements) {
              const std::string described = words(elements);
              return !described.starts_with(directly) && algorithm_of(described) == algorithm;
            });
  return algorithm;
}

/// Which algorithms carry the step's calls of mean size. If each message `counts`, also whether all
/// other calls use the same.
void add_algorithms(Communicator& world, bool counts, Evidence& evidence) {
  Traits& traits = evidence.traits;
  const StepFormulas formulas(traits);
  evidence.settled = counts;
  traits.reduced_by = carrier(world, formulas.reducing(), traits, evidence.settled);
  if (formulas.gathers() > 0)
    traits.gathered_by = carrier(world, Collective::all_gather, traits, evidence.settled);
}

/// Collective. Seconds of the calls that a step of the strategy makes, with buffers of its own and
/// no computation. The shortest of several tries, on the slowest rank.
double communication_alone(Communicator& world, const Machine& machine, const Evidence& evidence) {
  if (world.size() == 1) return 0;
  constexpr int tries = 10;
  const Traits& traits = evidence.traits;
  const StepFormulas formulas(traits);
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::size_t calls = traits.calls;
  const std::size_t block = (traits.parameters / calls + ranks) / ranks;
  Ledger ledger(machine);
  Array<float> buffer(ledger, Use::buckets, block * ranks);
  buffer.write(0, std::vector<float>(buffer.size(), 1.0F));
  const auto pass = [&](Collective kind, double bytes) {
    const DataType type = bytes < 4 ? DataType::bfloat16 : DataType::float32;
    std::byte* const whole = reinterpret_cast<std::byte*>(buffer.data());
    std::byte* const own = whole + static_cast<std::size_t>(world.rank()) * block * size_of(type);
    const bool gathers = kind == Collective::all_gather;
    const bool all = kind == Collective::all_reduce;
    for (std::size_t call = 0; call < calls; ++call)
      machine.start(world, {kind, gathers ? own : whole, gathers || all ? whole : own,
                            all ? buffer.size() : block, type})();
  };
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt <= tries; ++attempt) {
    world.barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < formulas.gathers(); ++i)
      pass(Collective::all_gather, traits.element);
    for (std::size_t i = 0; i < formulas.reductions(); ++i)
      pass(formulas.reducing(), traits.gradient_wire);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    world.all_reduce(seconds, ReduceOperator::max);
    if (attempt > 0) least = std::min(least, seconds);  // the first one connects, and takes pages
  }
  return least;
}

}  // namespace

Evidence evidence_of(Session& session, Communicator& world, const Options& options,
                     const std::vector<StepRecord>& steps) {
  const Traffic sent = session.sent_in_steps();
  const StrategyOptions& strategy = options.strategy;
  const Partition& partition = session.strategy().partition();
  const double master = strategy.precision != Precision::float32 ? 4 : 0;
  Evidence evidence{
      .traits = {.strategy = session.strategy().kind(),
                 .ranks = world.size(),
                 .parameters = session.layout().size(),
                 .padding = partition.padding(),
                 .micro_steps = options.accumulate,
                 .reduces_every_micro_step = strategy.sync_every_micro_step,
                 .calls = partition.segments().size(),
                 .element = static_cast<double>(info(strategy.precision).bytes),
                 .gradient_wire = static_cast<double>(info(strategy.wire).bytes),
                 .state_bytes = 4.0 * static_cast<double>(session.optimizer().states()) + master},
      .full = options.formulas == "full"};
  // Calls between devices have paths of their own. No formula counts their messages.
  add_algorithms(world, (options.validate || evidence.full) && !session.machine().is_device(),
                 evidence);
  std::array<double, 2> sums{static_cast<double>(sent.payload_bytes),
                             static_cast<double>(sent.messages)};
  world.all_reduce(sums);
  const double turns = static_cast<double>(world.size()) * static_cast<double>(steps.size());
  evidence.payload = sums[0] / turns;
  evidence.messages = sums[1] / turns;
  for (const Use use : {Use::parameters, Use::gradients, Use::optimizer, Use::master})
    evidence.state += static_cast<double>(session.memory().peak(use));
  world.all_reduce(evidence.state, ReduceOperator::max);
  evidence.steps = steps.size();
  evidence.skipped = static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const StepRecord& step) { return step.skipped; }));
  if (!evidence.full) return evidence;
  add_seconds(world, steps, evidence);
  evidence.alone = communication_alone(world, session.machine(), evidence);
  return evidence;
}

bool on_several_hosts(Communicator& world) {
  const auto all =
      bench::gather_all(world, fingerprint(rondo::this_host(read_config().host_id).host));
  return std::ranges::any_of(all, [&](std::uint64_t one) { return one != all[0]; });
}

Link read_link(const std::string& path, const std::string& transport, int ranks, bool apart,
               double bytes) {
  const tool::Profile profile = tool::read_profile(path);
  const std::string make = "`rondo calibrate --output " + path + "` ";
  if (profile.apart() != apart) {
    reject("--profile " + path + ": it has nothing about ranks on " +
               (apart ? "several hosts" : "one host"),
           make + (apart ? "under a launcher, one rank on each host, makes one"
                         : "without a launcher makes one in half a minute"));
  }
  const tool::LinkProfile& link = profile.link(transport, ranks);
  const double sent = 2.0 * (link.ranks - 1) / link.ranks;  // by a rank in an exchange, in bytes
  const double rate = sent / tool::seconds_a_byte(link.exchange, bytes, 0);
  if (!std::isfinite(rate))
    reject("--profile " + path + ": its samples are no times", make + "makes one");
  return {.rate = rate,
          .alpha = link.alpha.median,
          .beta = link.beta(bytes),
          // A rank waits while the others that share its core combine, too.
          .gamma = link.combined(bytes) * link.ranks / link.cores,
          .words = transport + " between " + std::to_string(link.ranks) +
                   (apart ? " hosts; " : " ranks; ") + profile.machine.cpu + ", " +
                   std::to_string(profile.machine.cores) + " cores, " + profile.date};
}

Link link_of(Session& session, Communicator& world, const Options& options, bool apart) {
  const std::size_t calls = session.strategy().partition().segments().size();
  const std::size_t count = std::max<std::size_t>(1, session.layout().size() / calls);
  const std::string call = world.describe(Collective::all_reduce, count, DataType::float32);
  std::string transport = "shm";
  for (const char* const other : {"verbs", "tcp"})
    if (call.find(other) != std::string::npos) transport = other;
  return read_link(options.profile, transport, world.size(), apart,
                   static_cast<double>(count * sizeof(float)));
}

}  // namespace rondo::train
