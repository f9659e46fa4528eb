#include "core/nccl/symbols.h"

#include <algorithm>
#include <array>
#include <string>

#include "rondo/error.h"

namespace rondo::nccl {
namespace {

constexpr std::array table{
    SymbolRow{"ncclAllReduce ncclReduce ncclBroadcast ncclBcast ncclReduceScatter ncclAllGather "
              "ncclAlltoAll ncclGather ncclScatter",
              Support::implemented,
              "all 12 types, all 5 operators and PreMulSum; buffers on the host or a device"},
    SymbolRow{"ncclAllReduceConfig ncclReduceConfig ncclBroadcastConfig ncclReduceScatterConfig "
              "ncclAllGatherConfig ncclAlltoAllConfig ncclGatherConfig ncclScatterConfig",
              Support::implemented,
              "rondo's own options are obeyed (see What NCCL has not), other settings have no "
              "effect; forcing an algorithm is refused"},
    SymbolRow{"ncclSend ncclRecv ncclGroupStart ncclGroupEnd", Support::implemented,
              "groups nest and hold any number of communicators"},
    SymbolRow{"ncclGroupSimulateEnd", Support::implemented,
              "drops the group; the time is the cost model's, with the constants of `rondo why`"},
    SymbolRow{"ncclGetUniqueId ncclCommInitRank ncclCommInitRankConfig ncclCommInitAll "
              "ncclCommSplit ncclCommShrink ncclCommGetUniqueId ncclCommGrow",
              Support::implemented, "blocking or not; any number of ranks in a process"},
    SymbolRow{"ncclCommInitRankScalable", Support::implemented, "the first of the ids is used"},
    SymbolRow{"ncclCommFinalize ncclCommDestroy ncclCommAbort ncclCommRevoke "
              "ncclCommGetAsyncError ncclCommCount ncclCommUserRank",
              Support::implemented, "abort and revoke end calls on every rank"},
    SymbolRow{"ncclCommCuDevice", Support::implemented,
              "the number given to ncclCommInitAll, otherwise the device current then, or 0"},
    SymbolRow{"ncclRedOpCreatePreMulSum ncclRedOpDestroy", Support::implemented,
              "products are rounded to the type before they are added"},
    SymbolRow{"rondoAllGatherv rondoReduceScatterv rondoGatherv rondoScatterv rondoAllToAllv",
              Support::implemented, "rondo's own (rondo/nccl.h): blocks that differ in size"},
    SymbolRow{"rondoRedOpCreateBitwise rondoCommSetTimeout", Support::implemented,
              "rondo's own: operators on bits; the longest silence of a peer inside a call"},
    SymbolRow{"ncclMemAlloc ncclMemFree", Support::implemented,
              "device memory where a device is current, else host memory that peers of the machine "
              "reach directly"},
    SymbolRow{"ncclGetVersion ncclGetErrorString ncclGetLastError ncclResetDebugInit",
              Support::implemented, "the last error is the calling thread's, in rondo's words"},
    SymbolRow{"ncclParamBind ncclParamGetI8 ncclParamGetI16 ncclParamGetI32 ncclParamGetI64 "
              "ncclParamGetU8 ncclParamGetU16 ncclParamGetU32 ncclParamGetU64 ncclParamGetStr "
              "ncclParamGet ncclParamGetParameter ncclParamGetAllParameterKeys ncclParamDumpAll",
              Support::implemented, "the NCCL_ variables that rondo honours"},
    SymbolRow{"ncclCommQueryProperties ncclTeamWorld ncclTeamLsa ncclTeamRail "
              "ncclTeamRankToWorld ncclTeamRankToLsa",
              Support::implemented,
              "ranks and teams; no device API, no multicast, no one-sided calls"},
    SymbolRow{
        "ncclCommWindowRegister ncclCommWindowDeregister ncclWinGetUserPtr", Support::implemented,
        "with NCCL_WIN_COLL_SYMMETRIC peers read device memory where it lies (see GPUs); other "
        "windows are kept note of"},
    SymbolRow{
        "ncclCommRegister ncclCommDeregister", Support::without_effect,
        "it tells peers nothing of their buffers, so calls on these are staged; host memory of "
        "ncclMemAlloc needs none, device memory a window"},
    SymbolRow{"ncclCommMemStats", Support::implemented,
              "the GPU memory that calls between devices take; none of it can be suspended"},
    SymbolRow{"ncclCommSuspend ncclCommResume", Support::without_effect,
              "the GPU memory that calls between devices take stays"},
    SymbolRow{"ncclPutSignal ncclSignal ncclWaitSignal", Support::refused,
              "one-sided calls are not there; use ncclSend and ncclRecv"},
    SymbolRow{"ncclSetEncryption", Support::refused,
              "rondo does not encrypt; use a private network or an encrypting tunnel"},
    SymbolRow{"ncclDevCommCreate ncclDevCommDestroy ncclGetLsaDevicePointer "
              "ncclGetLsaMultimemDevicePointer ncclGetMultimemDevicePointer "
              "ncclGetPeerDevicePointer ncclLsaBarrierCreateRequirement "
              "ncclGinBarrierCreateRequirement ncclLLA2ACreateRequirement ncclLLA2ACalcSlots "
              "ncclGinOutboxCreateRequirement ncclGinInboxA2ACreateRequirement",
              Support::refused, "NCCL's device API is code inside NCCL's own kernels"},
    SymbolRow{"ncclGetMultimemDeviceLeInfo ncclGetCftDeviceLeInfo ncclGetPeerDeviceLeInfo "
              "ncclTeamCft ncclTeamCftMultimem ncclCftBarrierCreateRequirement",
              Support::refused, "NCCL's device API for fabric endpoints of Blackwell GPUs"},
};

bool contains(std::string_view names, std::string_view name) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::span<const SymbolRow> symbol_rows() { return table; }

std::string_view name(Support support) {
  constexpr std::array names{"implemented", "accepted without effect", "refused"};
  return names[static_cast<std::size_t>(support)];
}

void refuse(std::string_view function) {
  for (const SymbolRow& row : table) {
    if (row.support != Support::refused || !contains(row.names, function)) continue;
    throw Error(ErrorCode::invalid_usage,
                "rondo does not serve " + std::string(function) + ": " + std::string(row.remark));
  }
  throw Error(ErrorCode::internal, std::string(function) + " is refused but not in the table");
}

}  // namespace rondo::nccl
