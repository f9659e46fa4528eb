// A whole bench program: command line to exit status.
#pragma once

#include "bench/common/program.h"

namespace rondo::bench {

/// 0: measured, nothing wrong. 1: wrong values, below NCCL_TESTS_MIN_BW, or an error of rondo (told
/// once per rank on standard error). 2: bad options.
int run(const Program& program, int argc, const char* const* argv);

}  // namespace rondo::bench
