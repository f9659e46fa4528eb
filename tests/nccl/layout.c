/* What a program sees of nccl.h: run twice, once built with each header, and compared. */
#include <nccl.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(type))
#define AT(member) printf("%s at %zu\n", #member, offsetof(ncclConfig_t, member))
#define NUMBER(name) printf("%s %lld\n", #name, (long long)(name))

int main(void) {
  SIZE(ncclUniqueId);
  SIZE(ncclSimInfo_t);
  SIZE(ncclResult_t);
  SIZE(ncclDataType_t);
  SIZE(ncclRedOp_t);
  SIZE(ncclScalarResidence_t);
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
