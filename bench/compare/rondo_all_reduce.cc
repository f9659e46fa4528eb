// rondo's side of the comparison. Started by rondorun.
#include <cstdio>
#include <cstdlib>

#include "bench/compare/loop.h"
#include "rondo/rondo.h"

int main(int argc, char** argv) {
  const char* local_rank = std::getenv("LOCAL_RANK");
  rondo::compare::bind_core(local_rank == nullptr ? 0 : std::atoi(local_rank));
  try {
    auto world = rondo::Communicator::from_environment();
    return rondo::compare::run_loop(argc, argv, world.rank(), world.size(),
                                    [&world](const float* input, float* output, std::size_t count) {
                                      world.all_reduce(input, output, count,
                                                       rondo::DataType::float32);
                                    });
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
