// Open MPI's side of the comparison: MPI_Allreduce. Started by mpirun.
#include <mpi.h>

#include "bench/compare/loop.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int status = rondo::compare::run_loop(
      argc, argv, rank, ranks, [](const float* input, float* output, std::size_t count) {
        MPI_Allreduce(input, output, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      });
  MPI_Finalize();
  return status;
}
