#include "core/nccl/symbols.h"

#include <array>
#include <string>

#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo::nccl {
namespace {

constexpr std::array table{
    SymbolRow{"ncclAllReduce ncclReduce ncclBroadcast ncclBcast ncclReduceScatter ncclAllGather "
              "ncclAlltoAll ncclGather ncclScatter",
              Support::implemented,
              "all 12 types, all 5 operators and PreMulSum; host and GPU buffers"},
    SymbolRow{"ncclAllReduceConfig ncclReduceConfig ncclBroadcastConfig ncclReduceScatterConfig "
              "ncclAllGatherConfig ncclAlltoAllConfig ncclGatherConfig ncclScatterConfig",
              Support::implemented,
              "rondo's options of a call take effect (see rondo/nccl.h); other settings have "
              "none; forcing an algorithm is refused"},
    SymbolRow{"ncclSend ncclRecv ncclGroupStart ncclGroupEnd", Support::implemented,
              "groups nest and hold any number of communicators"},
    SymbolRow{"ncclGroupSimulateEnd", Support::implemented,
              "drops the group; the time comes from the cost model of `rondo why --hosts`"},
    SymbolRow{"ncclGetUniqueId ncclCommInitRank ncclCommInitRankConfig ncclCommInitAll "
              "ncclCommSplit ncclCommShrink ncclCommGetUniqueId ncclCommGrow",
              Support::implemented, "blocking or non-blocking; any number of ranks in a process"},
    SymbolRow{"ncclCommInitRankScalable", Support::implemented, "uses the first of the ids"},
    SymbolRow{"ncclCommFinalize ncclCommDestroy ncclCommAbort ncclCommRevoke "
              "ncclCommGetAsyncError ncclCommCount ncclCommUserRank",
              Support::implemented, "abort and revoke end calls on every rank"},
    SymbolRow{"ncclCommCuDevice", Support::implemented,
              "the number given to ncclCommInitAll, else the device that was current, else 0"},
    SymbolRow{"ncclRedOpCreatePreMulSum ncclRedOpDestroy", Support::implemented,
              "products are rounded to the type before they are added"},
    SymbolRow{"rondoAllGatherv rondoReduceScatterv rondoGatherv rondoScatterv rondoAllToAllv",
              Support::implemented, "not in NCCL (rondo/nccl.h): blocks that differ in size"},
    SymbolRow{"rondoRedOpCreateBitwise rondoCommSetTimeout", Support::implemented,
              "not in NCCL: operators on bits; how long a peer may be silent inside a call"},
    SymbolRow{"ncclMemAlloc ncclMemFree", Support::implemented,
              "GPU memory if a device is current; else host memory that ranks of the same host "
              "reach directly"},
    SymbolRow{"ncclGetVersion ncclGetErrorString ncclGetLastError ncclResetDebugInit",
              Support::implemented,
              "the last error is that of the calling thread, in rondo's words"},
    SymbolRow{"ncclParamBind ncclParamGetI8 ncclParamGetI16 ncclParamGetI32 ncclParamGetI64 "
              "ncclParamGetU8 ncclParamGetU16 ncclParamGetU32 ncclParamGetU64 ncclParamGetStr "
              "ncclParamGet ncclParamGetParameter ncclParamGetAllParameterKeys ncclParamDumpAll",
              Support::implemented, "read the NCCL_ variables that rondo honours"},
    SymbolRow{"ncclCommQueryProperties ncclTeamWorld ncclTeamLsa ncclTeamRail "
              "ncclTeamRankToWorld ncclTeamRankToLsa",
              Support::implemented, "ranks and teams; they report no device API and no multicast"},
    SymbolRow{"ncclCommWindowRegister ncclCommWindowDeregister ncclWinGetUserPtr",
              Support::implemented,
              "with NCCL_WIN_COLL_SYMMETRIC, peers read GPU memory in place (see GPU buffers), and "
              "one-sided calls are possible; other windows are recorded only"},
    SymbolRow{
        "ncclPutSignal ncclSignal ncclWaitSignal", Support::implemented,
        "on windows in GPU memory between GPUs of one host, in their stream's order (see GPU "
        "buffers), or in host memory where no rank has a GPU driver; all else is refused, also "
        "captures; ctx below 8, sigIdx below 32"},
    SymbolRow{
        "ncclCommRegister ncclCommDeregister", Support::without_effect,
        "peers learn nothing about each other's buffers; use ncclMemAlloc (host) or a symmetric "
        "window (GPU) instead"},
    SymbolRow{"ncclCommMemStats", Support::implemented,
              "the GPU memory that calls between GPUs take; none of it can be suspended"},
    SymbolRow{"ncclCommSuspend ncclCommResume", Support::without_effect,
              "the GPU memory that calls between GPUs take is kept"},
    SymbolRow{"ncclSetEncryption", Support::refused,
              "rondo does not encrypt; use a private network or an encrypted tunnel"},
    SymbolRow{"ncclDevCommCreate ncclDevCommDestroy ncclGetLsaDevicePointer "
              "ncclGetLsaMultimemDevicePointer ncclGetMultimemDevicePointer "
              "ncclGetPeerDevicePointer ncclLsaBarrierCreateRequirement "
              "ncclGinBarrierCreateRequirement ncclLLA2ACreateRequirement ncclLLA2ACalcSlots "
              "ncclGinOutboxCreateRequirement ncclGinInboxA2ACreateRequirement",
              Support::refused, "this is NCCL's device API, which runs inside NCCL's own kernels"},
    SymbolRow{"ncclGetMultimemDeviceLeInfo ncclGetCftDeviceLeInfo ncclGetPeerDeviceLeInfo "
              "ncclTeamCft ncclTeamCftMultimem ncclCftBarrierCreateRequirement",
              Support::refused, "this is NCCL's device API for fabric endpoints of Blackwell GPUs"},
};

bool contains(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    if (take_part(names, ' ') == name) return true;
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
