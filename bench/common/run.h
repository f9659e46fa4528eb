// A whole bench program: command line to exit status.
#pragma once

#include "bench/common/program.h"

namespace rondo::bench {

/// Returns 0 when everything was measured and right. Returns 1 for wrong values, a bandwidth below
/// NCCL_TESTS_MIN_BW, or an error of rondo (told once per rank on standard error). Returns 2 for
/// bad options.
int run(const Program& program, int argc, const char* const* argv);

}  // namespace rondo::bench
