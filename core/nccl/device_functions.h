// The part of NCCL's device API that runs on the host and is served. Layouts are those of
// nccl_device.h of NCCL 2.30.
#pragma once

#include <cstddef>

#include "core/nccl/include/nccl.h"

/// Ranks `rank + k * stride` of a communicator, seen by one of them.
struct ncclTeam {
  int nRanks;
  int rank;
  int stride;
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
}
