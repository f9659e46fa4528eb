// From a call to its prepared form: choice, schedule, lowering, slicing. All cached.
#include "core/base/log.h"
#include "core/communicator/arguments.h"
#include "core/communicator/turn.h"
#include "core/plan/decide.h"
#include "core/plan/lower.h"

namespace rondo::detail {

Call CommunicatorState::settled(const Call& call) const { return rondo::settled(call, config_); }

const CommunicatorState::Prepared& CommunicatorState::lookup(const Call& call, Counts counts) {
  return calls_.find(call, counts, [&] { return prepare_call(call, counts); });
}

const CommunicatorState::Prepared& CommunicatorState::lookup_ragged(const Call& asked,
                                                                    Counts counts) {
  if (const Prepared* const known = ragged_.find(asked, counts)) return *known;
  const Shaped shaped = checked_shape(asked, counts, rank(), size());
  return ragged_.keep(asked, counts, lookup(settled(shaped.call), shaped.counts));
}

CommunicatorState::Prepared CommunicatorState::prepare_call(const Call& call, Counts counts) {
  check_kinds(call, rank(), size());
  const Choice choice = choose(call.collective, size_of(call, counts, size()), surroundings_,
                               algorithms_, rank_order_words(call));
  const auto prepared = decide(choice, plan_of(*choice.algorithm, call.root), call, rank(),
                               surroundings_, frame_bytes_, counts);
  prepared->fingerprint_base = fingerprint_base(call);
  if (rank() == 0 &&
      log_enabled(LogLevel::info, LogSubsystem::tuning))  // the choice is the same on every rank
    log(LogLevel::info, rank(), sentence(*prepared, transport_list()), LogSubsystem::tuning);
  return prepared;
}

std::shared_ptr<const Plan> CommunicatorState::plan_of(const Algorithm& algorithm, int root) {
  std::shared_ptr<const Plan>& cached = plans_[{&algorithm, root}];
  if (!cached) cached = make_plan(algorithm, root, rank(), surroundings_);
  return cached;
}

CommunicatorState::Prepared CommunicatorState::lookup(const Message& message) {
  // The key's root holds the peer and the direction.
  Call key = message.call;
  key.root = message.peer * 2 + (message.sends ? 1 : 0);
  CallCache& cache = key.blocks == between_pairs ? exchanged_ : messages_;
  return cache.find(key, {}, [&] { return prepare_message({key, message.peer, message.sends}); });
}

CommunicatorState::Prepared CommunicatorState::prepare_message(const Message& message) {
  return prepare(plan_of(message), message.call, rank(), {.frame_bytes = frame_bytes_},
                 "one message");
}

/// For any length: messages of an all_to_all_v seldom have the length of the one before.
std::shared_ptr<const Plan> CommunicatorState::plan_of(const Message& message) {
  const std::size_t at = static_cast<std::size_t>(message.peer) * 2 + (message.sends ? 1 : 0);
  std::shared_ptr<const Plan>& cached = message_plans_[at];
  if (cached) return cached;
  // A schedule of one step on this rank, in the lane that sends and receives have to themselves.
  const int nobody = -1;  // a receiver is not the root and need not know it
  Plan plan{.schedule = Schedule{.collective = Collective::send_recv,
                                 .algorithm = "linear",
                                 .ranks = size(),
                                 .root = message.sends ? rank() : nobody,
                                 .layout = make_layout(Collective::send_recv, size(), 1),
                                 .phases = {"message"}}};
  const Step step =
      message.sends ? rondo::send(message.peer, input(0)) : receive(message.peer, output(0));
  plan.schedule.steps = [step](int, int) -> Steps { co_yield step; };
  if (message.peer != rank()) {
    plan.program = lower(plan.schedule, rank());
    plan.program.ops[0].lane = static_cast<std::uint16_t>(point_to_point_lane);
  }
  cached = std::make_shared<const Plan>(std::move(plan));
  return cached;
}

std::string CommunicatorState::transport_list() const {
  std::string over;
  for (const auto& transport : transports_)
    over += (over.empty() ? "" : "+") + std::string(transport->name());
  return over;
}

std::string CommunicatorState::describe(const Call& call) {
  const Turn turn(*this);
  require_usable();
  return words(*lookup(settled(call), {}), transport_list());
}

Traffic CommunicatorState::traffic() {
  const Turn turn(*this);
  return engine_->traffic();
}

}  // namespace rondo::detail
