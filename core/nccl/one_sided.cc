#include "core/nccl/one_sided.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/communicator/one_sided.h"
#include "core/nccl/errors.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/operators.h"

namespace rondo::nccl {
namespace {

using detail::OneSided;
using direct_device::DeviceCalls;

/// NCCL's signals have an index in a context. Here all contexts share one order.
constexpr int contexts = 8;
constexpr int indices = Window::signals / contexts;
static_assert(Window::signals == direct_device::counters);

int signal_of(int context, int index) {
  if (context >= 0 && context < contexts && index >= 0 && index < indices)
    return context * indices + index;
  throw Error(
      ErrorCode::invalid_argument,
      "there is no signal " + std::to_string(index) + " in context " + std::to_string(context),
      {.remedy = "use a sigIdx below " + std::to_string(indices) + " and a ctx below " +
                 std::to_string(contexts)});
}

void check_flags(unsigned int flags) {
  if (flags == 0) return;
  throw Error(ErrorCode::invalid_argument, "flags is " + std::to_string(flags),
              {.remedy = "pass 0: there are no flags yet"});
}

/// What serves a communicator's windows: one of both.
struct Server {
  std::shared_ptr<OneSided> on_host{};
  DeviceCalls* between_devices = nullptr;
};

/// Throws where the communicator cannot be used, or has no one-sided calls.
Server server_of(Member& member) {
  const detail::CommunicatorState& state = member.state();
  if (auto calls = member.registrations().one_sided()) return {.on_host = std::move(calls)};
  if (DeviceCalls* const calls = member.device_calls()) return {.between_devices = calls};
  const std::string why = member.registrations().obstacle();
  if (why.empty())
    throw Error(ErrorCode::invalid_usage, "this communicator has no window",
                {.rank = state.rank(),
                 .remedy = "call ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC first, on "
                           "every rank"});
  throw Error(
      ErrorCode::invalid_argument,
      "one-sided calls need two ranks or more whose GPUs on one host reach each other, or no "
      "rank with a GPU driver: " +
          why,
      {.rank = state.rank(), .remedy = "use ncclSend and ncclRecv"});
}

/// `call(DeviceCalls&)` puts it into its stream.
template <class Call>
ncclResult_t issue_in_stream(const std::shared_ptr<Member>& member, bool waits, Call call) {
  return issue(
      OneSidedCall{.member = member,
                   .waits = waits,
                   .in_stream = true,
                   .call = [member, call = std::move(call)] { call(*member->device_calls()); }});
}

std::size_t bytes_of(std::size_t count, DataType type) {
  if (count <= std::numeric_limits<std::size_t>::max() / size_of(type))
    return count * size_of(type);
  throw Error(ErrorCode::invalid_argument, "count is " + std::to_string(count),
              {.remedy = "pass a number of elements that fit into memory"});
}

Registration known_window(Member& member, ncclWindow_t window) {
  const auto found = member.registrations().find(reinterpret_cast<std::uintptr_t>(window));
  if (found && (found->block || found->window != 0)) return *found;
  if (found && found->symmetric)
    throw Error(ErrorCode::invalid_argument, "peers cannot reach the memory of this window",
                {.remedy = "register as many bytes of cudaMalloc or ncclMemAlloc on every rank; "
                           "RONDO_DEBUG=INFO says whose memory it is, and why"});
  throw Error(ErrorCode::invalid_argument,
              found ? "this window is not symmetric" : "this communicator has no such window",
              {.remedy = "pass what ncclCommWindowRegister returned with NCCL_WIN_COLL_SYMMETRIC"});
}

/// A message to or from the peer, for what one-sided calls have in common with messages.
Operation message_with(ncclComm_t comm, int peer, cudaStream_t stream) {
  return {{.request = {.call = {.collective = Collective::send_recv, .type = DataType::uint8},
                       .peer = peer,
                       .sends = true,
                       .stream = stream}},
          member_of(comm)};
}

/// Its bytes are those of the message.
ncclResult_t issue_put(Operation message, ncclWindow_t window, std::size_t offset, int signal) {
  const Server server = server_of(*message.member);
  check_arguments(message);
  const stream::Request& put = message.request;
  const std::size_t bytes = put.call.count;
  const Registration found = known_window(*message.member, window);
  const bool on_host = server.on_host != nullptr;
  if (bytes > 0 && put.where.input.on_device == on_host)
    throw Error(
        ErrorCode::invalid_argument,
        on_host ? "the buffer is in GPU memory, and the window is in the host's"
                : "the buffer is in the host's memory, and the window is in a GPU's",
        {.rank = message.member->share()->rank(), .remedy = "put from the same kind of memory"});
  if (const auto& calls = server.on_host) {
    const detail::WindowPlace to{
        .window = found.block.value_or(0), .peer = put.peer, .offset = offset, .bytes = bytes};
    calls->check(to, put.input);
    return issue(
        OneSidedCall{.member = message.member, .call = [calls, to, source = put.input, signal] {
                       calls->finish(calls->put(to, source, signal), to.peer);
                     }});
  }
  const direct_device::Put given{.peer = put.peer,
                                 .signal = signal,
                                 .to = {found.window, offset},
                                 .source = put.input,
                                 .bytes = bytes};
  server.between_devices->check(given);
  return issue_in_stream(message.member, false, [given, stream = put.stream](DeviceCalls& calls) {
    calls.put(given, stream);
  });
}

ncclResult_t issue_signal(Operation message, int signal) {
  const Server server = server_of(*message.member);
  check_arguments(message);
  const int peer = message.request.peer;
  if (const auto& calls = server.on_host)
    return issue(OneSidedCall{.member = message.member,
                              .call = [calls, peer, signal] { calls->signal(peer, signal); }});
  return issue_in_stream(message.member, false,
                         [peer, signal, stream = message.request.stream](DeviceCalls& calls) {
                           calls.put({.peer = peer, .signal = signal}, stream);
                         });
}

ncclResult_t issue_wait(ncclComm_t comm, std::span<const ncclWaitSignalDesc_t> wanted,
                        cudaStream_t stream) {
  const std::shared_ptr<Member> member = member_of(comm);
  const Server server = server_of(*member);
  std::vector<direct_device::SignalWait> waits;
  for (const ncclWaitSignalDesc_t& each : wanted) {
    Operation message = message_with(comm, each.peer, stream);
    check_arguments(message);
    if (each.opCnt < 0)
      throw Error(ErrorCode::invalid_argument, "opCnt is " + std::to_string(each.opCnt),
                  {.remedy = "ask for 0 or more signals"});
    waits.push_back(
        {each.peer, signal_of(each.ctx, each.sigIdx), static_cast<std::uint32_t>(each.opCnt)});
  }
  if (const auto& calls = server.on_host)
    return issue(
        OneSidedCall{.member = member, .waits = true, .call = [calls, waits = std::move(waits)] {
                       for (const auto& wait : waits)
                         calls->wait_signal(wait.peer, wait.signal, wait.count);
                     }});
  return issue_in_stream(member, true, [waits = std::move(waits), stream](DeviceCalls& calls) {
    calls.await(waits, stream);
  });
}

}  // namespace

ncclResult_t run(std::span<const OneSidedCall> calls, bool begun) {
  Member& member = *calls.front().member;
  if (!begun) member.state();
  const auto blocks = [](const OneSidedCall& each) { return each.waits && !each.in_stream; };
  if (std::ranges::none_of(calls, blocks) || member.traits().blocking) {
    for (const OneSidedCall& each : calls) each.call();
    return ncclSuccess;
  }
  member.work_in_background([all = std::vector(calls.begin(), calls.end())]() -> State {
    for (const OneSidedCall& each : all) each.call();
    return nullptr;
  });
  return ncclInProgress;
}

}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclPutSignal);
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream) {
  return guarded_in_group("ncclPutSignal", [&] {
    check_flags(flags);
    const int signal = signal_of(ctx, sigIdx);
    Operation put = message_with(comm, peer, stream);
    put.request.input = localbuff;
    put.request.call.count = bytes_of(count, type_of(datatype));
    return issue_put(std::move(put), peerWin, peerWinOffset, signal);
  });
}

RONDO_NCCL_EXPORT(ncclSignal);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream) {
  return guarded_in_group("ncclSignal", [&] {
    check_flags(flags);
    return issue_signal(message_with(comm, peer, stream), signal_of(ctx, sigIdx));
  });
}

RONDO_NCCL_EXPORT(ncclWaitSignal);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream) {
  return guarded_in_group("ncclWaitSignal", [&] {
    if (nDesc < 0)
      throw rondo::Error(rondo::ErrorCode::invalid_argument, "nDesc is " + std::to_string(nDesc),
                         {.remedy = "pass how many descriptions there are"});
    if (nDesc > 0) require(signalDescs, "signalDescs");
    return issue_wait(comm, {signalDescs, static_cast<std::size_t>(nDesc)}, stream);
  });
}
