// main() of every bench program: the row of bench/programs.cc that the build names.
#include "bench/common/run.h"

int main(int argc, char** argv) {
  return rondo::bench::run(*rondo::bench::find_program(RONDO_BENCH_PROGRAM), argc, argv);
}
