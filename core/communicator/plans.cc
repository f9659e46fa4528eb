// From a call to its prepared form: choice, schedule, lowering, slicing. All cached.
#include "core/base/log.h"
#include "core/communicator/arguments.h"
#include "core/communicator/turn.h"
#include "core/plan/lower.h"

namespace rondo::detail {
namespace {

std::string_view name_of(DirectMode mode) {
  switch (mode) {
    case DirectMode::one_shot:
      return "one_shot";
    case DirectMode::two_shot:
      return "two_shot";
    case DirectMode::push:
      break;
  }
  return "two_shot pushing its results";
}

/// From here on times decide between the direct way and messages. Shorter calls are made at once
/// (Engine::run_at_once()), which cannot turn to messages; there the table decides.
constexpr std::size_t measured_from = std::size_t{16} * 1024 + 1;

/// Times may decide only between ways that give the same bits: where both add in the order of
/// ranks, and round once.
bool same_bits(const Choice& choice, const Call& call) {
  return !info(call.collective).reduces ||
         (choice.algorithm->name == name_of(choice.direct->mode) && call.op != ReduceOperator::avg);
}

/// `otherwise`: the call by messages.
std::string words_of_direct(const DirectCall& direct, const std::string& over,
                            const std::string& otherwise) {
  const std::string mode(name_of(direct.ordinary_memory.plan.mode));
  const std::string measured = direct.measured ? " or " + otherwise + ", as measured" : "";
  if (direct.staged) return "direct " + mode + " through the board over " + over + measured;
  const std::string windows =
      "direct over " + over + ": in rondo::allocate() memory in place, else ";
  if (direct.copies) return windows + mode + " by the kernel's copies" + measured;
  return windows + otherwise;
}

}  // namespace

std::size_t CommunicatorState::index_space_bytes(const Call& call) const {
  const std::size_t blocks = is_vector(call.collective) ? 1 : static_cast<std::size_t>(size());
  return call.count * size_of(call.type) * blocks;
}

const CommunicatorState::Prepared& CommunicatorState::lookup(const Call& call) {
  return calls_.find(call, [&] { return prepare_call(call); });
}

std::shared_ptr<const DirectCall> CommunicatorState::direct_call(const Choice& choice,
                                                                 const Call& call,
                                                                 DirectPlans& plans) const {
  const std::shared_ptr<DirectCall> direct = prepare_direct(*choice.direct, call, plans);
  const bool equal = same_bits(choice, call);
  direct->copies = !direct->staged && surroundings_.copies && (choice.forced || equal);
  direct->measured = !choice.forced && equal && index_space_bytes(call) >= measured_from;
  return direct;
}

CommunicatorState::Prepared CommunicatorState::prepare_call(const Call& call) {
  check_kinds(call, rank(), size());
  const Choice choice =
      choose(call.collective, index_space_bytes(call), surroundings_, algorithms_);
  const std::shared_ptr<const Plan> plan = plan_of(*choice.algorithm, call.root);
  const auto prepared = prepare(plan, call, rank(), frame_bytes_, choice.reason);
  if (choice.direct) prepared->direct = direct_call(choice, call, *plan->direct);
  if (rank() == 0 && log_enabled(LogLevel::info)) {  // the choice is every rank's
    log(LogLevel::info, rank(),
        std::string(name(call.collective)) + " of " + std::to_string(call.count) + " x " +
            std::string(name(call.type)) + ": " + words(*prepared));
  }
  return prepared;
}

std::shared_ptr<const Plan> CommunicatorState::plan_of(const Algorithm& algorithm, int root) {
  std::shared_ptr<const Plan>& cached = plans_[{&algorithm, root}];
  if (!cached) {
    Plan plan{.schedule = algorithm.build(size(), root)};
    plan.program = lower(plan.schedule, rank(), surroundings_.links == LinkClass::network);
    plan.longest = longest_message(plan.schedule);
    plan.direct = std::make_shared<DirectPlans>(algorithm.collective, size(), root, rank());
    cached = std::make_shared<const Plan>(std::move(plan));
  }
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
  return prepare(std::make_shared<const Plan>(std::move(plan)), message.call, rank(), frame_bytes_,
                 "one message");
}

std::string CommunicatorState::words(const PreparedCall& prepared) const {
  std::string over;
  for (const auto& transport : transports_) {
    over += (over.empty() ? "" : "+") + std::string(transport->name());
  }
  std::string text = prepared.plan->schedule.algorithm;
  if (!over.empty()) text += " over " + over;
  if (prepared.slicing.passes > 1) {
    text += " in " + std::to_string(prepared.slicing.passes) + " passes of " +
            std::to_string(prepared.slicing.slice * prepared.element_bytes) + " B a chunk";
  }
  if (prepared.direct) text = words_of_direct(*prepared.direct, over, text);
  return text + " (" + prepared.reason + ")";
}

std::string CommunicatorState::describe(const Call& call) {
  const Turn turn(*this);
  require_usable();
  return words(*lookup(call));
}

}  // namespace rondo::detail
