#include "core/nccl/one_sided.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/communicator/one_sided.h"
#include "core/cuda/driver.h"
#include "core/nccl/errors.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"
#include "core/nccl/operators.h"

namespace rondo::nccl {
namespace {

using detail::OneSided;

/// NCCL's signals have an index in a context. Here all contexts share one order.
constexpr int contexts = 8;
constexpr int indices = Window::signals / contexts;

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

/// Throws where the communicator cannot be used, or has no windows.
std::shared_ptr<OneSided> calls_of(Member& member) {
  detail::CommunicatorState& state = member.state();
  if (auto calls = member.registrations().one_sided()) return calls;
  const std::string why = member.registrations().obstacle();
  if (why.empty())
    throw Error(ErrorCode::invalid_usage, "this communicator has no window",
                {.rank = state.rank(),
                 .remedy = "call ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC first, on "
                           "every rank"});
  throw Error(
      ErrorCode::invalid_argument,
      "one-sided calls serve windows in host memory, where no rank has a GPU driver: " + why,
      {.rank = state.rank(), .remedy = "use ncclSend and ncclRecv"});
}

std::size_t bytes_of(std::size_t count, DataType type) {
  if (count <= std::numeric_limits<std::size_t>::max() / size_of(type))
    return count * size_of(type);
  throw Error(ErrorCode::invalid_argument, "count is " + std::to_string(count),
              {.remedy = "pass a number of elements that fit into memory"});
}

std::uint32_t number_of(Member& member, ncclWindow_t window) {
  const auto found = member.registrations().find(reinterpret_cast<std::uintptr_t>(window));
  if (found && found->block) return *found->block;
  throw Error(ErrorCode::invalid_argument,
              found ? "this window is not symmetric" : "this communicator has no such window",
              {.remedy = "pass what ncclCommWindowRegister returned with NCCL_WIN_COLL_SYMMETRIC"});
}

/// `to`: but for the window's number.
ncclResult_t issue_put(ncclComm_t comm, ncclWindow_t window, detail::WindowPlace to,
                       const void* source, int signal) {
  const std::shared_ptr<Member> member = member_of(comm);
  const std::shared_ptr<OneSided> calls = calls_of(*member);
  calls->check_peer(to.peer);
  to.window = number_of(*member, window);
  calls->check(to, source);
  return issue(OneSidedCall{member, false, [calls, to, source, signal] {
                              calls->finish(calls->put(to, source, signal), to.peer);
                            }});
}

ncclResult_t issue_wait(ncclComm_t comm, std::span<const ncclWaitSignalDesc_t> wanted) {
  struct Wait {
    int peer;
    int signal;
    std::size_t count;
  };
  const std::shared_ptr<Member> member = member_of(comm);
  const std::shared_ptr<OneSided> calls = calls_of(*member);
  std::vector<Wait> waits;
  for (const ncclWaitSignalDesc_t& each : wanted) {
    calls->check_peer(each.peer);
    if (each.opCnt < 0)
      throw Error(ErrorCode::invalid_argument, "opCnt is " + std::to_string(each.opCnt),
                  {.remedy = "ask for 0 or more signals"});
    waits.push_back(
        {each.peer, signal_of(each.ctx, each.sigIdx), static_cast<std::size_t>(each.opCnt)});
  }
  return issue(OneSidedCall{member, true, [calls, waits = std::move(waits)] {
                              for (const Wait& wait : waits)
                                calls->wait_signal(wait.peer, wait.signal, wait.count);
                            }});
}

}  // namespace

bool has_one_sided_calls() { return cuda::find_driver() == nullptr; }

ncclResult_t run(std::span<const OneSidedCall> calls, bool begun) {
  Member& member = *calls.front().member;
  if (!begun) member.state();
  const bool any_waits = std::ranges::any_of(calls, &OneSidedCall::waits);
  if (!any_waits || member.traits().blocking) {
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
                           unsigned int flags, ncclComm_t comm, cudaStream_t) {
  return guarded_in_group("ncclPutSignal", [&] {
    check_flags(flags);
    const int signal = signal_of(ctx, sigIdx);
    const std::size_t bytes = bytes_of(count, type_of(datatype));
    return issue_put(comm, peerWin, {.peer = peer, .offset = peerWinOffset, .bytes = bytes},
                     localbuff, signal);
  });
}

RONDO_NCCL_EXPORT(ncclSignal);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t) {
  return guarded_in_group("ncclSignal", [&] {
    check_flags(flags);
    const int signal = signal_of(ctx, sigIdx);
    const std::shared_ptr<Member> member = member_of(comm);
    const auto calls = calls_of(*member);
    calls->check_peer(peer);
    return issue(
        OneSidedCall{member, false, [calls, peer, signal] { calls->signal(peer, signal); }});
  });
}

RONDO_NCCL_EXPORT(ncclWaitSignal);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t) {
  return guarded_in_group("ncclWaitSignal", [&] {
    if (nDesc < 0)
      throw rondo::Error(rondo::ErrorCode::invalid_argument, "nDesc is " + std::to_string(nDesc),
                         {.remedy = "pass how many descriptions there are"});
    if (nDesc > 0) require(signalDescs, "signalDescs");
    return issue_wait(comm, {signalDescs, static_cast<std::size_t>(nDesc)});
  });
}
