// What rondo's libnccl.so.2 does beyond NCCL, for programs written for NCCL. C99 and C++.
//
// It goes with rondo's nccl.h and with NVIDIA's. A program that may run with either library defines
// RONDO_NCCL_WEAK before it includes this: where the library is not rondo's, the functions' names
// are then null, which the program asks before it calls one:
//
//   if (rondoCommSetTimeout) rondoCommSetTimeout(comm, 5000);
//
// By dlsym() they are found under the same names. All return as NCCL's functions do, with words in
// ncclGetLastError, and those that move data follow the rules of NCCL's collectives: in groups, in
// the order of their stream, captured into graphs; buffers on the host or a device.
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
// Entries of other vendors are ignored. An option of rondo's that is unknown, or a value that is
// none, is ncclInvalidArgument. Of an option that is there twice the last one counts. All ranks
// pass the same, or the call is a mismatch. Calls that combine nothing take them without effect.

// "rnd" in ASCII: NCCL leaves the ids below 2^24 to vendors, whoever takes which.
#define RONDO_NCCL_VENDOR 0x726e64
// val.i, an ncclDataType_t: contributions are added in this type and rounded to the call's type
// once, at the end. ncclFloat32 for floats of 8 and 16 bits, ncclFloat64 for ncclFloat32; the
// call's own type asks for nothing.
#define RONDO_NCCL_ACCUMULATE 1
// val.i, 0 or 1: contributions are combined from rank 0's to the last one's, so that the result's
// bits depend on the values, their number and type and the operator only.
#define RONDO_NCCL_REPRODUCIBLE 2
//
// There is no option for a timeout. Whoever waits too long gives the communicator up, not the call,
// and waits for whatever call its stream has come to, which may be replayed from a graph: so the
// timeout is the communicator's, below, and may be set before any call.

// The longest silence of a peer inside a call that this rank waits out from now on: then the call
// fails on every rank, by ncclTimeout where RONDO_NCCL_VERSION is 23000 or more, else (as by
// default) by ncclRemoteError, and ncclGetLastError says who was awaited. At first RONDO_TIMEOUT,
// 300 s. Calls under way are meant, too, and communicators made from this one later. At least 1.
ncclResult_t rondoCommSetTimeout(ncclComm_t comm, unsigned int milliseconds) RONDO_NCCL_FUNCTION;

typedef enum { rondoBitAnd = 0, rondoBitOr = 1, rondoBitXor = 2 } rondoBitwise_t;

// An operator on the bits of integers, for calls of this communicator; of any integer type, the
// same on all ranks. Destroyed by ncclRedOpDestroy.
ncclResult_t rondoRedOpCreateBitwise(ncclRedOp_t* op, rondoBitwise_t which,
                                     ncclComm_t comm) RONDO_NCCL_FUNCTION;

// Collectives whose blocks differ in size. `counts` holds each rank's number of elements, the same
// on all ranks; the blocks lie one behind the other, in rank order. They are read before the call
// returns. In place: the rank's own block within the larger buffer.

// recvbuff holds all ranks' blocks; sendbuff is this rank's.
ncclResult_t rondoAllGatherv(const void* sendbuff, void* recvbuff, const size_t* counts,
                             ncclDataType_t datatype, ncclComm_t comm,
                             cudaStream_t stream) RONDO_NCCL_FUNCTION;
// sendbuff holds all ranks' blocks; recvbuff becomes this rank's, combined over the ranks.
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

// Rank j receives sendcounts[j] elements that begin at element sdispls[j] of sendbuff; recvcounts
// and rdispls say the same of recvbuff. Each rank has its own; sendcounts[j] here is recvcounts of
// this rank on rank j. Displacements may be NULL: then blocks lie one behind the other. Blocks that
// are received overlap nothing. They are messages: those of ncclSend and ncclRecv between the same
// ranks keep their order with them.
ncclResult_t rondoAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                            void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                            ncclDataType_t datatype, ncclComm_t comm,
                            cudaStream_t stream) RONDO_NCCL_FUNCTION;

#ifdef __cplusplus
}
#endif

#endif
