// ncclGroupSimulateEnd: predicts how long calls would take, without making them.
#include "core/plan/estimate.h"

#include <algorithm>
#include <map>

#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/plan/choose.h"
#include "core/plan/decide.h"
#include "core/topology/routes.h"

namespace rondo::nccl {
namespace {

/// What a communicator does.
struct Load {
  double collectives = 0;  ///< seconds, as both below
  double sends = 0;
  double receives = 0;
};

double seconds_of(const Call& call, const detail::CommunicatorState& state) {
  if (state.size() == 1) return 0;
  const std::size_t size = index_space_bytes(call, state.size());
  const Composition chosen =
      choose(call.collective, size, state.topology(), state.algorithms()).algorithm;
  return Estimates(state.topology()).of(chosen, static_cast<double>(size)).seconds;
}

double seconds_of_message(const Call& call, int peer, const detail::CommunicatorState& state) {
  const auto bytes = static_cast<double>(call.count * size_of(call.type));
  const Routes routes(state.topology());
  if (routes.same_host(state.rank(), peer))
    return routes.memory().alpha + bytes * routes.memory().beta;
  return routes.network_alpha() + bytes * routes.beta(routes.port_out(state.rank()));
}

/// Seconds for all of them together. They were checked before. Calls of one communicator follow
/// each other, but messages sent and messages received go on side by side, and so do communicators.
/// The times are estimates (core/plan/estimate.h) of the algorithms that rondo would choose among
/// processes. Of this machine they know the speed of its ports and RONDO_LINK_COSTS; else alpha, gamma
/// and the cost of memory are a topology's defaults. So they are a measure to compare calls by. Throws
/// Error{invalid_usage} for a communicator that cannot be used.
double estimated_seconds(std::span<const Operation> operations) {
  std::map<const Member*, Load> loads;
  for (const Operation& operation : operations) {
    const detail::CommunicatorState& state = operation.member->state();
    Load& load = loads[operation.member.get()];
    const stream::Request& request = operation.request;
    if (!is_message(request)) {
      load.collectives += seconds_of(request.call, state);
    } else {
      (request.sends ? load.sends : load.receives) +=
          seconds_of_message(request.call, request.peer, state);
    }
  }
  double longest = 0;
  for (const auto& [member, load] : loads)
    longest = std::max(longest, load.collectives + std::max(load.sends, load.receives));
  return longest;
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclGroupSimulateEnd);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  return guarded("ncclGroupSimulateEnd", [&] {
    const std::vector<Operation> operations = drop_group();
    constexpr unsigned int simulation_magic = 0x74685283;
    if (simInfo == nullptr) return;
    if (simInfo->size < sizeof(ncclSimInfo_t) || simInfo->magic != simulation_magic) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument, "simInfo was not initialised",
                         {.remedy = "begin with NCCL_SIM_INFO_INITIALIZER"});
    }
    constexpr double microseconds = 1e6;
    simInfo->estimatedTime = in_group()
                                 ? NCCL_UNDEF_FLOAT  // its outermost end tells
                                 : static_cast<float>(estimated_seconds(operations) * microseconds);
  });
}
