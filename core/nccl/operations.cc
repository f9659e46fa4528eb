#include "core/nccl/operations.h"

#include <utility>

#include "core/communicator/access.h"
#include "core/communicator/arguments.h"
#include "core/nccl/between_devices.h"
#include "core/nccl/in_streams.h"
#include "core/nccl/together.h"

namespace rondo::nccl {
namespace {

using detail::CommunicatorAccess;
using detail::Message;

bool is_message(const Operation& operation) {
  return operation.call.collective == Collective::send_recv;
}

Message message_of(const Operation& operation) {
  return {operation.call, operation.peer, operation.sends};
}

/// What this rank gives: its input, or that times the operator's scalar, which then lies in
/// `scratch`.
const void* input_of(const Operation& operation, int ranks, std::vector<std::byte>& scratch) {
  if (operation.factor == nullptr || operation.call.count == 0) return operation.input;
  const bool in_blocks = operation.call.collective == Collective::reduce_scatter;
  const std::size_t count =
      operation.call.count * (in_blocks ? static_cast<std::size_t>(ranks) : 1);
  scratch.resize(count * size_of(operation.call.type));
  operation.factor->apply(scratch.data(), operation.input, count, operation.factor->scalar());
  return scratch.data();
}

/// `deferred`: this thread is about to wait.
Pending start(const Operation& operation, bool deferred) {
  detail::CommunicatorState& state = operation.member->state();
  Pending pending;
  const void* const input = input_of(operation, state.size(), pending.scratch);
  auto work = is_message(operation)
                  ? state.start(message_of(operation), input, operation.output, deferred)
                  : state.start(operation.call, input, operation.output, deferred);
  pending.work = CommunicatorAccess::make(operation.member->share(), std::move(work));
  return pending;
}

/// Work on several communicators must go on while this thread waits for one of them.
void keep_all_moving(const std::vector<Pending>& started) {
  for (const Pending& pending : started) {
    const State& state = CommunicatorAccess::state(pending.work);
    if (state != CommunicatorAccess::state(started.front().work)) state->carry_on_in_background();
  }
}

}  // namespace

void check_arguments(const Operation& operation) {
  const detail::CommunicatorState& state = operation.member->state();
  const Call& call = operation.call;
  if (is_message(operation)) {
    const void* const buffer = operation.sends ? operation.input : operation.output;
    detail::check_message(call, buffer, operation.peer, state.rank(), state.size());
  } else {
    detail::check_call(call, operation.input, operation.output, state.rank(), state.size());
  }
}

ncclResult_t run(const Operation& operation) {
  if (concern_devices({&operation, 1})) {
    check_arguments(operation);
    FirstFailure failure;
    const bool done = put_between_devices({&operation, 1}, failure).empty();
    failure.rethrow();
    if (done) return ncclSuccess;
  }
  if (cuda::find_driver() != nullptr) {
    if (needs_stream_order(operation)) {
      check_arguments(operation);
      operation.member->streams(operation.stream).enqueue({request_of(operation)});
      return ncclSuccess;
    }
    wait_for_stream(operation);
  }
  // A collective's arguments are checked as it begins.
  if (is_message(operation) || operation.factor != nullptr) check_arguments(operation);
  Member& member = *operation.member;
  if (!member.traits().blocking) {
    member.keep(start(operation, false));
    return ncclInProgress;
  }
  detail::CommunicatorState& state = member.state();
  std::vector<std::byte> scratch;
  const void* const input = input_of(operation, state.size(), scratch);
  if (is_message(operation)) {
    state.call(message_of(operation), input, operation.output);
  } else {
    state.call(operation.call, input, operation.output);
  }
  return ncclSuccess;
}

ncclResult_t run(std::span<const Operation> operations) {
  FirstFailure failure;
  const PutTogether together = put_together(operations, failure);
  if (together.any) operations = together.others;
  std::vector<Operation> others;
  if (concern_devices(operations)) {
    others = put_between_devices(operations, failure);
    operations = others;
  }
  const std::vector<const Operation*> on_host = put_into_streams(operations, failure);
  std::vector<Pending> started;
  // Handed over behind the last one: a member with calls under way takes no other.
  std::vector<std::pair<Member*, Pending>> left;
  for (const Operation* const operation : on_host) {
    failure.watch([&] {
      wait_for_stream(*operation);
      const bool waits = operation->member->traits().blocking;
      Pending pending = start(*operation, waits);
      if (waits) {
        started.push_back(std::move(pending));
      } else {
        left.emplace_back(operation->member.get(), std::move(pending));
      }
    });
  }
  keep_all_moving(started);
  for (auto& [member, pending] : left) member->keep(std::move(pending));
  for (Pending& pending : started) failure.watch([&] { pending.work.wait(); });
  failure.rethrow();
  return left.empty() ? ncclSuccess : ncclInProgress;
}

}  // namespace rondo::nccl
