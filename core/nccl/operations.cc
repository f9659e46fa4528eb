#include "core/nccl/operations.h"

#include <algorithm>
#include <utility>

#include "core/base/first_failure.h"
#include "core/communicator/access.h"
#include "core/communicator/arguments.h"
#include "core/dispatch/dispatch.h"
#include "core/nccl/memory.h"
#include "core/stream/buffers.h"

namespace rondo::nccl {
namespace {

using detail::CommunicatorAccess;
using detail::Message;
using dispatch::Asked;
using dispatch::AskedList;

Message message_of(const stream::Request& request) {
  return {request.call, request.peer, request.sends};
}

/// What this rank gives: its input, or that times the operator's scalar, which then lies in
/// `scratch`.
const void* input_of(const stream::Request& request, const detail::CommunicatorState& state,
                     std::vector<std::byte>& scratch) {
  if (!request.scale || request.call.count == 0) return request.input;
  scratch.resize(stream::bytes_of(request, Buffer::input, state.rank(), state.size()));
  const std::size_t count = scratch.size() / size_of(request.call.type);
  request.scale(scratch.data(), request.input, count, request.scalar);
  return scratch.data();
}

/// Whether buffers are looked at in a process without CUDA, too. Not unasked: an all-reduce of 8 B
/// over shared memory would take three times as long.
bool wants_look(const detail::CommunicatorState& state) {
  return state.config().check_pointers.value_or(false);
}

void check_buffers(Operation& operation, const detail::CommunicatorState& state) {
  if (cuda::find_driver() == nullptr && !wants_look(state)) return;
  const Traits& traits = operation.member->traits();
  const stream::Home home{.rank = state.rank(),
                          .ranks = state.size(),
                          .context = traits.context.get(),
                          .device = traits.device};
  stream::Request& request = operation.request;
  const Call& call = request.call;
  request.where = stream::check_memory(request, home);
  if (!request.scalar_later) return;
  stream::check_memory({"operator's scalar", request.scalar, size_of(call.type)}, call, home);
  if (cuda::address_of(request.scalar) % size_of(call.type) == 0) return;
  throw Error(ErrorCode::invalid_argument,
              "the operator's scalar does not begin at a multiple of its type's size",
              {.rank = state.rank(),
               .call = to_string(call),
               .remedy = "align it to its type: kernels read it whole"});
}

/// For the device paths.
const Asked& ready(Operation& operation) {
  operation.calls = &operation.member->streamed();
  operation.request.call = operation.member->share()->resolved(operation.request.call);
  return operation;
}

/// For a call on the host. Returns when what was put into its stream (where it moves any data), and
/// all calls of its communicator in streams, are complete. Without the driver: at once. Throws
/// cuda::CudaError.
void wait_for_stream(const Operation& operation) {
  operation.member->streamed().finish();
  if (operation.request.call.count > 0) finish_stream(operation.request.stream);
}

/// `deferred`: this thread is about to wait.
Pending start(const Operation& operation, bool deferred) {
  detail::CommunicatorState& state = operation.member->state();
  const stream::Request& request = operation.request;
  Pending pending;
  const void* const input = input_of(request, state, pending.scratch);
  auto work = is_message(request)
                  ? state.start(message_of(request), input, request.output, deferred)
                  : state.start(request.call, input, request.output, deferred, request.counts);
  pending.work = CommunicatorAccess::make(operation.member->share(), std::move(work));
  return pending;
}

/// A group's operations, as the device paths see them. Those of communicators that cannot be used
/// fail, and are left out.
AskedList ready(std::span<Operation> operations, FirstFailure& failure) {
  AskedList asked;
  for (Operation& operation : operations) {
    Member& member = *operation.member;
    failure.watch([&] {
      member.state();
      asked.push_back(&ready(operation));
    });
    if (member.is_over()) member.streamed().leave_rendezvous();  // nobody need wait for it there
  }
  return asked;
}

/// A group's calls on the host.
class HostCalls {
 public:
  explicit HostCalls(FirstFailure& failure) : failure_(&failure) {}

  /// Begins it when its stream is done.
  void start(const Operation& operation) {
    failure_->watch([&] {
      wait_for_stream(operation);
      const bool waits = operation.member->traits().blocking;
      Pending pending = nccl::start(operation, waits);
      if (waits) {
        started_.push_back(std::move(pending));
      } else {
        left_.emplace_back(operation.member.get(), std::move(pending));
      }
    });
  }
  void start(const AskedList& asked) {
    for (const Asked* const each : asked) start(static_cast<const Operation&>(*each));
  }
  /// Keeps all of them moving while this thread does other things.
  void keep_moving() const {
    for (const Pending& pending : started_)  // or they are waited for in turn
      CommunicatorAccess::state(pending.work)->progress().try_to_carry_on();
  }
  /// Waits for those that block.
  ncclResult_t finish() {
    const auto is_of_first = [&](const Pending& pending) {
      return CommunicatorAccess::state(pending.work) ==
             CommunicatorAccess::state(started_.front().work);
    };
    if (!std::ranges::all_of(started_, is_of_first)) keep_moving();  // while one is waited for
    for (auto& [member, pending] : left_) member->keep(std::move(pending));
    for (Pending& pending : started_) failure_->watch([&] { pending.work.wait(); });
    return left_.empty() ? ncclSuccess : ncclInProgress;
  }

 private:
  FirstFailure* failure_;
  std::vector<Pending> started_{};
  // Handed to their members after the last call: a member with calls under way takes no other.
  std::vector<std::pair<Member*, Pending>> left_{};
};

/// Puts those that need it into their streams, and begins the others on the host.
void put_into_streams(std::span<Operation> operations, HostCalls& on_host, FirstFailure& failure) {
  const AskedList asked = ready(operations, failure);
  bool done = true;
  failure.watch([&] { done = dispatch::meet(asked); });
  if (done) return;
  const dispatch::Parted parted = dispatch::part(asked);
  // Those that touch no stream come first. What follows may wait for room in queues, and so for
  // peers, which may be waiting for these.
  dispatch::BetweenDevices between_devices(parted.on_host);
  do {
    on_host.start(between_devices.put(failure));
  } while (between_devices.has_more());
  if (parted.in_streams.empty()) return;
  on_host.keep_moving();
  on_host.start(dispatch::put_into_streams(parted.in_streams, failure));
}

}  // namespace

void check_arguments(Operation& operation) {
  const detail::CommunicatorState& state = operation.member->state();
  const stream::Request& request = operation.request;
  if (is_message(request)) {
    const void* const buffer = request.sends ? request.input : request.output;
    detail::check_message(request.call, buffer, request.peer, state.rank(), state.size());
  } else {
    detail::check_call(request.call, request.input, request.output, state.rank(), state.size(),
                       request.counts);
  }
  check_buffers(operation, state);
}

ncclResult_t run(Operation operation) {
  const bool may_be_on_device = cuda::find_driver() != nullptr;
  Member& member = *operation.member;
  detail::CommunicatorState& state = member.state();
  const bool looks = may_be_on_device || wants_look(state);
  if (looks) check_arguments(operation);
  if (may_be_on_device) {
    if (dispatch::put_alone(ready(operation))) return ncclSuccess;
    wait_for_stream(operation);
  }
  const stream::Request& request = operation.request;
  // Otherwise a collective's arguments are checked as it begins.
  if (!looks && (is_message(request) || request.scale)) check_arguments(operation);
  if (!member.traits().blocking) {
    member.keep(start(operation, false));
    return ncclInProgress;
  }
  std::vector<std::byte> scratch;
  const void* const input = input_of(request, state, scratch);
  if (is_message(request)) {
    state.call(message_of(request), input, request.output);
  } else {
    state.call(request.call, input, request.output, request.counts);
  }
  return ncclSuccess;
}

ncclResult_t run(std::span<Operation> operations) {
  FirstFailure failure;
  HostCalls on_host(failure);
  if (cuda::find_driver() == nullptr) {
    for (const Operation& operation : operations) on_host.start(operation);
  } else {
    put_into_streams(operations, on_host, failure);
  }
  const ncclResult_t result = on_host.finish();
  failure.rethrow();
  return result;
}

}  // namespace rondo::nccl
