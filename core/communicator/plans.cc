// From a call to its prepared form: choice, schedule, lowering, slicing. All cached.
#include "core/base/log.h"
#include "core/communicator/arguments.h"
#include "core/communicator/turn.h"
#include "core/plan/decide.h"
#include "core/plan/lower.h"

namespace rondo::detail {

const CommunicatorState::Prepared& CommunicatorState::lookup(const Call& call) {
  return calls_.find(call, [&] { return prepare_call(call); });
}

CommunicatorState::Prepared CommunicatorState::prepare_call(const Call& call) {
  check_kinds(call, rank(), size());
  const Choice choice =
      choose(call.collective, index_space_bytes(call, size()), surroundings_, algorithms_);
  const auto prepared = decide(choice, plan_of(*choice.algorithm, call.root), call, rank(),
                               surroundings_, frame_bytes_);
  if (rank() == 0 && log_enabled(LogLevel::info))  // the choice is every rank's
    log(LogLevel::info, rank(), sentence(*prepared, transport_list()));
  return prepared;
}

std::shared_ptr<const Plan> CommunicatorState::plan_of(const Algorithm& algorithm, int root) {
  std::shared_ptr<const Plan>& cached = plans_[{&algorithm, root}];
  if (!cached) cached = make_plan(algorithm, root, rank(), surroundings_);
  return cached;
}

CommunicatorState::Prepared CommunicatorState::lookup(const Message& message) {
  // The root's place in the key says whom and which way.
  Call key = message.call;
  key.root = message.peer * 2 + (message.sends ? 1 : 0);
  return messages_.find(key, [&] { return prepare_message({key, message.peer, message.sends}); });
}

CommunicatorState::Prepared CommunicatorState::prepare_message(const Message& message) {
  // A schedule of one step on this rank, in the lane that sends and receives have to themselves.
  const int nobody = -1;  // a receiver need not know the root: it is not it
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
  return prepare(std::make_shared<const Plan>(std::move(plan)), message.call, rank(),
                 {.frame_bytes = frame_bytes_}, "one message");
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
  return words(*lookup(call), transport_list());
}

Traffic CommunicatorState::traffic() {
  const Turn turn(*this);
  return engine_->traffic();
}

}  // namespace rondo::detail
