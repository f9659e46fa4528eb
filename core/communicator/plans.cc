#include "core/communicator/plans.h"

#include "core/base/log.h"
#include "core/communicator/arguments.h"
#include "core/execute/engine.h"
#include "core/plan/decide.h"
#include "core/plan/lower.h"

namespace rondo::detail {

Plans::Plans(int rank, const Config& config, const Connections& connections)
    : rank_(rank),
      config_(config),
      connections_(connections),
      algorithms_(config.algorithm, "RONDO_ALGORITHM", parse_scripts(config.schedule_texts)),
      message_plans_(connections.by_peer().size() * 2) {}

Call Plans::resolved(const Call& call) const { return rondo::resolved(call, config_); }

const Plans::Prepared& Plans::of(const Call& call, Counts counts) {
  return calls_.find(call, counts, [&] { return prepare_call(call, counts); });
}

const Plans::Prepared& Plans::of_ragged(const Call& asked, Counts counts) {
  if (const Prepared* const known = ragged_.find(asked, counts)) return *known;
  const Shaped shaped = checked_shape(asked, counts, rank_, ranks());
  return ragged_.keep(asked, counts, of(resolved(shaped.call), shaped.counts));
}

Plans::Prepared Plans::prepare_call(const Call& call, Counts counts) {
  check_kinds(call, rank_, ranks());
  const Choice choice = choose(call.collective, size_of(call, counts, ranks()),
                               connections_.topology(), algorithms_, rank_order_words(call));
  const auto prepared = decide(choice, plan_of(choice.algorithm, call.root), call, rank_,
                               connections_.topology(), connections_.frame_bytes(), counts);
  prepared->fingerprint_base = fingerprint_base(call);
  if (rank_ == 0 &&
      log_enabled(LogLevel::info, LogSubsystem::tuning))  // the choice is the same on every rank
    rondo::log(LogLevel::info, rank_, sentence(*prepared, connections_.names()),
               LogSubsystem::tuning);
  return prepared;
}

std::shared_ptr<const Plan> Plans::plan_of(const Composition& composition, int root) {
  std::shared_ptr<const Plan>& cached = plans_[{composition, root}];
  if (!cached) cached = make_plan(composition, root, rank_, connections_.topology());
  return cached;
}

Plans::Prepared Plans::of(const Message& message) {
  // The key's root holds the peer and the direction.
  Call key = message.call;
  key.root = message.peer * 2 + (message.sends ? 1 : 0);
  CallCache<PreparedCall>& cache = key.blocks == between_pairs ? exchanged_ : messages_;
  return cache.find(key, {}, [&] {
    return prepare(plan_of(message), key, rank_, {.frame_bytes = connections_.frame_bytes()},
                   "one message");
  });
}

/// For any length: messages of an all_to_all_v seldom have the length of the one before.
std::shared_ptr<const Plan> Plans::plan_of(const Message& message) {
  const std::size_t at = static_cast<std::size_t>(message.peer) * 2 + (message.sends ? 1 : 0);
  std::shared_ptr<const Plan>& cached = message_plans_[at];
  if (cached) return cached;
  // A schedule of one step on this rank, in the lane that sends and receives have to themselves.
  const int nobody = -1;  // a receiver is not the root and need not know it
  Plan plan{.schedule = Schedule{.collective = Collective::send_recv,
                                 .algorithm = "linear",
                                 .ranks = ranks(),
                                 .root = message.sends ? rank_ : nobody,
                                 .layout = make_layout(Collective::send_recv, ranks(), 1),
                                 .phases = {"message"}}};
  const Step step =
      message.sends ? rondo::send(message.peer, input(0)) : receive(message.peer, output(0));
  plan.schedule.steps = [step](int, int) -> Steps { co_yield step; };
  if (message.peer != rank_) {
    plan.program = lower(plan.schedule, rank_);
    plan.program.ops[0].lane = static_cast<std::uint16_t>(point_to_point_lane);
  }
  cached = std::make_shared<const Plan>(std::move(plan));
  return cached;
}

void Plans::log() const {
  if (rank_ != 0 || config_.algorithm.empty()) return;  // the settings are the same on every rank
  std::string unbound;
  for (const CollectiveInfo& row : collectives) {
    const bool has_choice = algorithm_names(row.collective).size() > 1;
    if (has_choice && !algorithms_.restricts(row.collective))
      unbound += (unbound.empty() ? "" : ", ") + std::string(row.name);
  }
  if (unbound.empty()) return;
  rondo::log(LogLevel::info, rank_,
             "RONDO_ALGORITHM=" + config_.algorithm + " has no effect on " + unbound,
             LogSubsystem::tuning);
}

}  // namespace rondo::detail
