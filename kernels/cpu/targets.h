// The instruction sets that the CPU kernels are compiled for. Include it before any Highway header.
//
//   kept      the compiler's baseline (x86-64, NEON), AVX2 and AVX-512
//   left out  for compile time and size: x86 steps that change nothing here, and the scalable Arm
//             and RISC-V sets, where the machine's baseline serves
//             In builds under a sanitizer AVX-512, too: one step of each width is enough there
//   scalars   where there are no vectors, and for tests. Highway's emulated vectors would turn a
//             double that is too large for a float into the largest float.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RONDO_LEFT_OUT_OF_SANITIZERS HWY_AVX3
#else
#define RONDO_LEFT_OUT_OF_SANITIZERS 0
#endif

#define HWY_BROKEN_EMU128 1
#define HWY_DISABLED_TARGETS                                                                \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_SVE | HWY_SVE2 | \
   HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | RONDO_LEFT_OUT_OF_SANITIZERS)

#include <hwy/detect_targets.h>

// Highway 1.0.3 does not know these yet.
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0
#endif
#ifndef HWY_AVX3_SPR
#define HWY_AVX3_SPR 0
#endif
