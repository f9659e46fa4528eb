// Functions that rondo does not serve. The symbols exist, so that programs load. A call returns an
// error that says why.
#include "core/nccl/device_functions.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/symbols.h"

namespace rondo::nccl {
namespace {

ncclResult_t refused(const char* function) {
  return guarded(function, [&] { refuse(function); });
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclPutSignal);
ncclResult_t ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int,
                           unsigned int, ncclComm_t, cudaStream_t) {
  return refused("ncclPutSignal");
}

RONDO_NCCL_EXPORT(ncclSignal);
ncclResult_t ncclSignal(int, int, int, unsigned int, ncclComm_t, cudaStream_t) {
  return refused("ncclSignal");
}

RONDO_NCCL_EXPORT(ncclWaitSignal);
ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t) {
  return refused("ncclWaitSignal");
}

RONDO_NCCL_EXPORT(ncclSetEncryption);
ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t*) {
  return refused("ncclSetEncryption");
}

RONDO_NCCL_EXPORT(ncclDevCommCreate);
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements*, ncclDevComm*) {
  return refused("ncclDevCommCreate");
}

RONDO_NCCL_EXPORT(ncclDevCommDestroy);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*) {
  return refused("ncclDevCommDestroy");
}

RONDO_NCCL_EXPORT(ncclGetLsaDevicePointer);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t, size_t, int, void**) {
  return refused("ncclGetLsaDevicePointer");
}

RONDO_NCCL_EXPORT(ncclGetPeerDevicePointer);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t, size_t, int, void**) {
  return refused("ncclGetPeerDevicePointer");
}

RONDO_NCCL_EXPORT(ncclGetLsaMultimemDevicePointer);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, size_t, void**) {
  return refused("ncclGetLsaMultimemDevicePointer");
}

RONDO_NCCL_EXPORT(ncclGetMultimemDevicePointer);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t, size_t, ncclMultimemHandle, void**) {
  return refused("ncclGetMultimemDevicePointer");
}

RONDO_NCCL_EXPORT(ncclLsaBarrierCreateRequirement);
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam, int, ncclLsaBarrierHandle*,
                                             ncclDevResourceRequirements*) {
  return refused("ncclLsaBarrierCreateRequirement");
}

RONDO_NCCL_EXPORT(ncclGinBarrierCreateRequirement);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam, int, ncclGinBarrierHandle*,
                                             ncclDevResourceRequirements*) {
  return refused("ncclGinBarrierCreateRequirement");
}

RONDO_NCCL_EXPORT(ncclLLA2ACalcSlots);
int ncclLLA2ACalcSlots(int, int) {
  refused("ncclLLA2ACalcSlots");
  return 0;
}

RONDO_NCCL_EXPORT(ncclLLA2ACreateRequirement);
ncclResult_t ncclLLA2ACreateRequirement(int, int, ncclLLA2AHandle*, ncclDevResourceRequirements*) {
  return refused("ncclLLA2ACreateRequirement");
}

RONDO_NCCL_EXPORT(ncclGinOutboxCreateRequirement);
ncclResult_t ncclGinOutboxCreateRequirement(int, int, ncclGinOutboxHandle*,
                                            ncclDevResourceRequirements*) {
  return refused("ncclGinOutboxCreateRequirement");
}

RONDO_NCCL_EXPORT(ncclGinInboxA2ACreateRequirement);
ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam, int, int, ncclGinInboxA2AHandle*,
                                              ncclDevResourceRequirements*) {
  return refused("ncclGinInboxA2ACreateRequirement");
}

RONDO_NCCL_EXPORT(ncclGetMultimemDeviceLeInfo);
ncclResult_t ncclGetMultimemDeviceLeInfo(ncclWindow_t, size_t, uint32_t*, size_t*) {
  return refused("ncclGetMultimemDeviceLeInfo");
}

RONDO_NCCL_EXPORT(ncclGetCftDeviceLeInfo);
ncclResult_t ncclGetCftDeviceLeInfo(ncclWindow_t, size_t, int, ncclTeam, uint32_t*, size_t*) {
  return refused("ncclGetCftDeviceLeInfo");
}

RONDO_NCCL_EXPORT(ncclGetPeerDeviceLeInfo);
ncclResult_t ncclGetPeerDeviceLeInfo(ncclWindow_t, size_t, int, uint32_t*, size_t*) {
  return refused("ncclGetPeerDeviceLeInfo");
}

RONDO_NCCL_EXPORT(ncclTeamCft);
ncclTeam ncclTeamCft(ncclComm_t, int) {
  refused("ncclTeamCft");
  return {};
}

RONDO_NCCL_EXPORT(ncclTeamCftMultimem);
ncclTeam ncclTeamCftMultimem(ncclComm_t) {
  refused("ncclTeamCftMultimem");
  return {};
}

RONDO_NCCL_EXPORT(ncclCftBarrierCreateRequirement);
ncclResult_t ncclCftBarrierCreateRequirement(ncclTeam, int, ncclCftBarrierHandle*,
                                             ncclDevResourceRequirements*) {
  return refused("ncclCftBarrierCreateRequirement");
}
