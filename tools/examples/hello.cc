// The smallest program: every rank adds its numbers to those of all other ranks.
//
//   rondorun -n 4 hello      # also under torchrun, srun and mpirun; by itself: one rank
#include <rondo/rondo.h>

#include <cstdio>
#include <vector>

int main() {
  try {
    auto world = rondo::Communicator::from_environment();  // one rank without a launcher
    std::vector<float> values(1 << 20, static_cast<float>(world.rank() + 1));
    world.all_reduce(values);  // each element becomes its sum over all ranks
    std::printf("rank %d of %d: %g\n", world.rank(), world.size(), values[0]);
    world.finalize();
  } catch (const rondo::Error& error) {  // names the rank, the peer, the call and a remedy
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
