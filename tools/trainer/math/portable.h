// Macros that make one source device code under nvcc and ordinary C++ elsewhere.
#pragma once

#ifdef __CUDACC__
#define RONDO_TRAIN_BOTH __host__ __device__
#else
#define RONDO_TRAIN_BOTH
#endif
