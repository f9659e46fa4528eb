// The part of NCCL's device API that runs on the host, as far as symbols go: programs that
// reference one must load. Layouts are those of nccl_device.h of NCCL 2.30. Types that only a
// refused function would fill in stay incomplete here.
#pragma once

#include <cstddef>

#include "core/nccl/include/nccl.h"

struct ncclDevComm;
struct ncclDevCommRequirements;
struct ncclDevResourceRequirements;
struct ncclLsaBarrierHandle;
struct ncclGinBarrierHandle;
struct ncclGinOutboxHandle;
struct ncclGinInboxA2AHandle;
struct ncclLLA2AHandle;
struct ncclCftBarrierHandle;

/// Ranks `rank + k * stride` of a communicator, seen by one of them.
struct ncclTeam {
  int nRanks;
  int rank;
  int stride;
};

/// By value, as a multicast handle is passed.
struct ncclMultimemHandle {
  void* mcBasePtr;
};

struct ncclCommProperties {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  int ginType;  ///< 0: none
  int nLsaTeams;
  bool hostRmaSupport;
  int railedGinType;
};

// The layouts that programs are built with.
static_assert(sizeof(ncclTeam) == 12 && offsetof(ncclTeam, stride) == 8);
static_assert(sizeof(ncclMultimemHandle) == 8);
static_assert(sizeof(ncclCommProperties) == 56 && offsetof(ncclCommProperties, rank) == 16);
static_assert(offsetof(ncclCommProperties, deviceApiSupport) == 32);
static_assert(offsetof(ncclCommProperties, multimemSupport) == 33);
static_assert(offsetof(ncclCommProperties, ginType) == 36);
static_assert(offsetof(ncclCommProperties, nLsaTeams) == 40);
static_assert(offsetof(ncclCommProperties, hostRmaSupport) == 44);
static_assert(offsetof(ncclCommProperties, railedGinType) == 48);

extern "C" {
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommQueryProperties, ncclComm_t, ncclCommProperties*);
RONDO_NCCL_DECLARE(ncclTeam, ncclTeamWorld, ncclComm_t);
RONDO_NCCL_DECLARE(ncclTeam, ncclTeamLsa, ncclComm_t);
RONDO_NCCL_DECLARE(ncclTeam, ncclTeamRail, ncclComm_t);
RONDO_NCCL_DECLARE(int, ncclTeamRankToWorld, ncclComm_t, ncclTeam, int);
RONDO_NCCL_DECLARE(int, ncclTeamRankToLsa, ncclComm_t, ncclTeam, int);

RONDO_NCCL_DECLARE(ncclResult_t, ncclDevCommCreate, ncclComm_t, const ncclDevCommRequirements*,
                   ncclDevComm*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclDevCommDestroy, ncclComm_t, const ncclDevComm*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetLsaDevicePointer, ncclWindow_t, size_t, int, void**);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetPeerDevicePointer, ncclWindow_t, size_t, int, void**);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetLsaMultimemDevicePointer, ncclWindow_t, size_t, void**);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetMultimemDevicePointer, ncclWindow_t, size_t,
                   ncclMultimemHandle, void**);
RONDO_NCCL_DECLARE(ncclResult_t, ncclLsaBarrierCreateRequirement, ncclTeam, int,
                   ncclLsaBarrierHandle*, ncclDevResourceRequirements*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGinBarrierCreateRequirement, ncclComm_t, ncclTeam, int,
                   ncclGinBarrierHandle*, ncclDevResourceRequirements*);
RONDO_NCCL_DECLARE(int, ncclLLA2ACalcSlots, int, int);
RONDO_NCCL_DECLARE(ncclResult_t, ncclLLA2ACreateRequirement, int, int, ncclLLA2AHandle*,
                   ncclDevResourceRequirements*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGinOutboxCreateRequirement, int, int, ncclGinOutboxHandle*,
                   ncclDevResourceRequirements*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGinInboxA2ACreateRequirement, ncclTeam, int, int,
                   ncclGinInboxA2AHandle*, ncclDevResourceRequirements*);

// Since 2.31.
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetMultimemDeviceLeInfo, ncclWindow_t, size_t, uint32_t*,
                   size_t*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetCftDeviceLeInfo, ncclWindow_t, size_t, int, ncclTeam,
                   uint32_t*, size_t*);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetPeerDeviceLeInfo, ncclWindow_t, size_t, int, uint32_t*,
                   size_t*);
RONDO_NCCL_DECLARE(ncclTeam, ncclTeamCft, ncclComm_t, int);
RONDO_NCCL_DECLARE(ncclTeam, ncclTeamCftMultimem, ncclComm_t);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCftBarrierCreateRequirement, ncclTeam, int,
                   ncclCftBarrierHandle*, ncclDevResourceRequirements*);
}
