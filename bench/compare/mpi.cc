// An MPI in the comparison, compiled once for each MPI and started by its mpirun.
#include <mpi.h>

#include <cstdio>
#include <string>

#include "bench/compare/loop.h"

namespace {

using rondo::compare::Call;
using rondo::compare::Collective;

class Mpi final : public rondo::compare::Library {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  /// Its first line up to the first comma.
  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }

  void choose(const std::string& variant) override {
    if (variant != "heap") throw std::invalid_argument("MPI has no variant '" + variant + "'");
  }

  // Any error ends the job: MPI's default handler.
  void run(const Call& call) override {
    if (is_ragged(call.collective)) return run_ragged(call);
    const int count = static_cast<int>(call.block);
    switch (call.collective) {
      case Collective::all_reduce:
        MPI_Allreduce(call.input, call.output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Collective::reduce_scatter:
        MPI_Reduce_scatter_block(call.input, call.output, count, MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD);
        return;
      case Collective::all_gather:
        MPI_Allgather(call.input, count, MPI_FLOAT, call.output, count, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Collective::broadcast:
        MPI_Bcast(call.root == rank_ ? call.input : call.output, count, MPI_FLOAT, call.root,
                  MPI_COMM_WORLD);
        return;
      case Collective::all_to_all:
        MPI_Alltoall(call.input, count, MPI_FLOAT, call.output, count, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Collective::scan:
        MPI_Scan(call.input, call.output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Collective::exclusive_scan:
        MPI_Exscan(call.input, call.output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      default:
        throw std::invalid_argument("a plain copy is compare_copy's");
    }
  }

 private:
  void run_ragged(const Call& call) const {
    const rondo::compare::Lists& sent = call.deal->sent;
    const rondo::compare::Lists& received = call.deal->received;
    const int own_input = static_cast<int>(call.deal->input);
    const int own_output = static_cast<int>(call.deal->output);
    switch (call.collective) {
      case Collective::all_gather_v:
        MPI_Allgatherv(call.input, own_input, MPI_FLOAT, call.output, received.int_counts.data(),
                       received.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Collective::reduce_scatter_v:
        MPI_Reduce_scatter(call.input, call.output, sent.int_counts.data(), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
        return;
      case Collective::gather_v:
        MPI_Gatherv(call.input, own_input, MPI_FLOAT, call.output, received.int_counts.data(),
                    received.begins.data(), MPI_FLOAT, call.root, MPI_COMM_WORLD);
        return;
      case Collective::scatter_v:
        MPI_Scatterv(call.input, sent.int_counts.data(), sent.begins.data(), MPI_FLOAT, call.output,
                     own_output, MPI_FLOAT, call.root, MPI_COMM_WORLD);
        return;
      default:
        MPI_Alltoallv(call.input, sent.int_counts.data(), sent.begins.data(), MPI_FLOAT,
                      call.output, received.int_counts.data(), received.begins.data(), MPI_FLOAT,
                      MPI_COMM_WORLD);
    }
  }

  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  rondo::compare::start_rank();
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    Mpi library;
    status = rondo::compare::serve(library, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
