/* What a program sees of nccl.h: run twice, once built with each header, and compared. An earlier
 * header than rondo's prints less: HAS() leaves out what came after its version. */
#include <nccl.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(type))
#define MEMBER(type, member) printf("%s.%s at %zu\n", #type, #member, offsetof(type, member))
#define AT(member) MEMBER(ncclConfig_t, member)
#define NUMBER(name) printf("%s %lld\n", #name, (long long)(name))

#ifdef RONDO_NCCL_NO_DEVICE_API /* rondo's header, which then says that it is an earlier one */
#define HAS(version) 1
#else
#define HAS(version) (NCCL_VERSION_CODE >= (version))
#endif

int main(void) {
  SIZE(ncclUniqueId);
  SIZE(ncclSimInfo_t);
  SIZE(ncclResult_t);
  SIZE(ncclDataType_t);
  SIZE(ncclRedOp_t);
  SIZE(ncclScalarResidence_t);
  MEMBER(ncclSimInfo_t, size);
  MEMBER(ncclSimInfo_t, magic);
  MEMBER(ncclSimInfo_t, version);
  MEMBER(ncclSimInfo_t, estimatedTime);
  AT(size);
  AT(magic);
  AT(version);
  AT(blocking);
  AT(cgaClusterSize);
  AT(minCTAs);
  AT(maxCTAs);
  AT(netName);
  AT(splitShare);
  AT(trafficClass);
  AT(commName);
  AT(collnetEnable);
  AT(CTAPolicy);
  AT(shrinkShare);
  AT(nvlsCTAs);
  AT(nChannelsPerNetPeer);
  AT(nvlinkCentricSched);
#if HAS(22900)
  AT(graphUsageMode);
  AT(numRmaCtx);
#endif
#if HAS(23000)
  AT(maxP2pPeers);
#endif
#if HAS(23007)
  AT(graphStreamOrdering);
  NUMBER(ncclTimeout);
#endif
#if HAS(23102)
  AT(launchOrderImplicit);
  AT(numRmaSig);
  AT(rmaEagerInit);
  AT(hostCftMode);
  SIZE(ncclHostCftMode_t);
  NUMBER(ncclHostCftDefault);
  NUMBER(ncclHostCftEnable);
  NUMBER(ncclHostCftDisable);
  NUMBER(ncclHostCftFallback);
  SIZE(ncclConfigExt_t);
  MEMBER(ncclConfigExt_t, key);
  MEMBER(ncclConfigExt_t, val);
  MEMBER(ncclCollConfig_t, ext);
  MEMBER(ncclCollConfig_t, algSelection);
  MEMBER(ncclCollConfig_t, userProfilerTag);
#endif
#if HAS(23203)
  AT(nvlsHostMode);
  SIZE(ncclConfig_t);
  SIZE(ncclCollConfig_t);
  MEMBER(ncclCollConfig_t, launchCompletionEvent);
  SIZE(ncclNvlsHostMode_t);
  NUMBER(ncclNvlsHostModeDefault);
  NUMBER(ncclNvlsHostModeEnable);
  NUMBER(ncclNvlsHostModeDisableTransport);
  NUMBER(ncclNvlsHostModeDisableSymmetricMultimem);
  NUMBER(ncclNvlsHostModeDisable);
#endif
  NUMBER(ncclSuccess);
  NUMBER(ncclUnhandledCudaError);
  NUMBER(ncclSystemError);
  NUMBER(ncclInternalError);
  NUMBER(ncclInvalidArgument);
  NUMBER(ncclInvalidUsage);
  NUMBER(ncclRemoteError);
  NUMBER(ncclInProgress);
  NUMBER(ncclInt8);
  NUMBER(ncclChar);
  NUMBER(ncclUint8);
  NUMBER(ncclInt32);
  NUMBER(ncclInt);
  NUMBER(ncclUint32);
  NUMBER(ncclInt64);
  NUMBER(ncclUint64);
  NUMBER(ncclFloat16);
  NUMBER(ncclHalf);
  NUMBER(ncclFloat32);
  NUMBER(ncclFloat);
  NUMBER(ncclFloat64);
  NUMBER(ncclDouble);
  NUMBER(ncclBfloat16);
  NUMBER(ncclFloat8e4m3);
  NUMBER(ncclFloat8e5m2);
  NUMBER(ncclNumTypes);
  NUMBER(ncclSum);
  NUMBER(ncclProd);
  NUMBER(ncclMax);
  NUMBER(ncclMin);
  NUMBER(ncclAvg);
  NUMBER(ncclNumOps);
  NUMBER(ncclMaxRedOp);
  NUMBER(ncclScalarDevice);
  NUMBER(ncclScalarHostImmediate);
  NUMBER(NCCL_UNIQUE_ID_BYTES);
  NUMBER(NCCL_CONFIG_UNDEF_INT);
  NUMBER(NCCL_SPLIT_NOCOLOR);
  NUMBER(NCCL_WIN_COLL_SYMMETRIC);
  NUMBER(NCCL_WIN_REQUIRED_ALIGNMENT);
  NUMBER(NCCL_CTA_POLICY_ZERO);
  NUMBER(NCCL_SHRINK_ABORT);
  NUMBER(NCCL_REVOKE_DEFAULT);
  NUMBER(NCCL_VERSION(2, 8, 4));
  NUMBER(NCCL_VERSION(2, 28, 9));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  NUMBER(config.magic);
  NUMBER(config.nvlinkCentricSched);
  return config.size != sizeof config || config.version != NCCL_VERSION_CODE;
}
