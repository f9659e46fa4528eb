// What rondo's libnccl.so.2 has beyond NCCL, for programs written for NCCL. C99 and C++.
//
// It works with rondo's nccl.h and with NVIDIA's. A program that may run with either library
// defines RONDO_NCCL_WEAK before it includes this header. Where the library is not rondo's, the
// functions are then null. The program tests that before it calls one:
//
//   if (rondoCommSetTimeout) rondoCommSetTimeout(comm, 5000);
//
// dlsym() finds them by the same names. All return an ncclResult_t, with a text in
// ncclGetLastError, as NCCL's functions do. Those that move data follow the rules of NCCL's
// collectives: they can be in groups, they follow their stream, they can be captured into graphs.
// Buffers are on the host or on a device.
#pragma once
#ifndef RONDO_NCCL_H_
#define RONDO_NCCL_H_

#ifndef NCCL_H_
#include <nccl.h>
#endif
#ifndef NCCL_H_
#error "<nccl.h> is not NCCL's: give the folder above rondo/ (-I PREFIX/include), not rondo/ itself"
#endif
#include <stddef.h>

#ifdef RONDO_NCCL_WEAK
#define RONDO_NCCL_FUNCTION __attribute__((weak))
#else
#define RONDO_NCCL_FUNCTION
#endif

#ifdef __cplusplus
extern "C" {
#endif

// rondo's options in the list that ncclCollConfig_t.ext points to (NCCL 2.31 and newer):
//
//   ncclConfigExt_t wide = {NULL, {RONDO_NCCL_VENDOR, RONDO_NCCL_ACCUMULATE}, {ncclFloat32}};
//   ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
//   config.ext = &wide;
//   ncclAllReduceConfig(halves, halves, count, ncclFloat16, ncclSum, comm, stream, &config);
//
// - Entries of other vendors are ignored.
// - An unknown option of rondo's, or a wrong value, is ncclInvalidArgument.
// - If an option is there twice, the last one counts.
// - All ranks must pass the same options. Otherwise the call is a mismatch.
// - Calls that combine nothing accept them without effect.

// "rnd" in ASCII. NCCL leaves the ids below 2^24 to vendors, without assigning them.
#define RONDO_NCCL_VENDOR 0x726e64
// val.i is an ncclDataType_t. Contributions are added in this type and rounded to the call's type
// once, at the end:
//
//   floats of 8 and 16 bits  ncclFloat32
//   ncclFloat32              ncclFloat64
//   any                      the call's own type, which changes nothing
#define RONDO_NCCL_ACCUMULATE 1
// val.i is 0 or 1. With 1, contributions are combined in rank order. So the bits of the result
// depend only on the values, their number, their type and the operator.
#define RONDO_NCCL_REPRODUCIBLE 2

// There is no option for a timeout. A rank that waits too long gives up the communicator, not the
// call: it waits for the call that its stream has reached, which a graph may replay. So the timeout
// belongs to the communicator (below). It may be set before any call.

// How long a peer may be silent inside a call, in milliseconds, at least 1. After that the call
// fails on every rank, and ncclGetLastError says which rank was awaited. The result is
// ncclRemoteError, or ncclTimeout if RONDO_NCCL_VERSION is 23000 or more. It holds from now on,
// also for calls under way and for communicators made from this one later. Until it is set,
// RONDO_TIMEOUT (300 s) holds.
ncclResult_t rondoCommSetTimeout(ncclComm_t comm, unsigned int milliseconds) RONDO_NCCL_FUNCTION;

typedef enum { rondoBitAnd = 0, rondoBitOr = 1, rondoBitXor = 2 } rondoBitwise_t;

// An operator on the bits of integers of any type, for calls of this communicator. All ranks use
// the same. ncclRedOpDestroy destroys it.
ncclResult_t rondoRedOpCreateBitwise(ncclRedOp_t* op, rondoBitwise_t which,
                                     ncclComm_t comm) RONDO_NCCL_FUNCTION;

// Collectives whose blocks differ in size. `counts` holds each rank's number of elements, the same
// on all ranks, and is read before the call returns. The blocks lie one after the other, in rank
// order. In place means: the small buffer is the rank's own block within the larger one.

// recvbuff holds all ranks' blocks. sendbuff is this rank's.
ncclResult_t rondoAllGatherv(const void* sendbuff, void* recvbuff, const size_t* counts,
                             ncclDataType_t datatype, ncclComm_t comm,
                             cudaStream_t stream) RONDO_NCCL_FUNCTION;
// sendbuff holds all ranks' blocks. recvbuff becomes this rank's, combined over the ranks.
ncclResult_t rondoReduceScatterv(const void* sendbuff, void* recvbuff, const size_t* counts,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream) RONDO_NCCL_FUNCTION;
// recvbuff, on the root only, holds all ranks' blocks.
ncclResult_t rondoGatherv(const void* sendbuff, void* recvbuff, const size_t* counts,
                          ncclDataType_t datatype, int root, ncclComm_t comm,
                          cudaStream_t stream) RONDO_NCCL_FUNCTION;
// sendbuff, on the root only, holds all ranks' blocks.
ncclResult_t rondoScatterv(const void* sendbuff, void* recvbuff, const size_t* counts,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) RONDO_NCCL_FUNCTION;

// Rank j receives sendcounts[j] elements, from element sdispls[j] of sendbuff on. recvcounts and
// rdispls say the same about recvbuff.
// - Each rank has counts of its own. sendcounts[j] here must equal, on rank j, its recvcounts of
//   this rank.
// - Displacements may be NULL. Then blocks lie one after the other.
// - Blocks that are received must overlap nothing.
// - The blocks are messages. They keep their order with those of ncclSend and ncclRecv between the
//   same ranks.
ncclResult_t rondoAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                            void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                            ncclDataType_t datatype, ncclComm_t comm,
                            cudaStream_t stream) RONDO_NCCL_FUNCTION;

#ifdef __cplusplus
}
#endif

#endif
