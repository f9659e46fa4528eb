// Calls on GPU buffers, in the order of CUDA streams.
//
//   rondo::StreamCommunicator gpus(world.dup());               // a device is current in this
//   thread gpus.all_reduce(gradients, gradients, count, rondo::DataType::float32,
//                   rondo::ReduceOperator::sum, stream);       // cudaStream_t; returns at once
//   step<<<blocks, threads, 0, stream>>>(gradients, count);    // begins when the sum is there
//
// The rules of rondo/rondo.h hold, and these:
// - A call returns at once. It begins when what was put into its stream before is complete, and
// what
//   is put there later begins when the call is complete. It can be captured into a graph and
//   replayed; host buffers are then read and written at each replay.
// - Buffers lie on the device or the host, each as it likes. They stay untouched until the stream
//   has passed the call.
// - Calls of one communicator follow each other, whatever their streams. All streams are of the
// CUDA
//   context that was current when it was made.
// - A thread that makes calls for several ranks puts them into a rondo::Group. No call of it is in
// a
//   stream before the outermost wait(), which does not wait for streams.
// - A failure comes by check() or the next call; streams go on, and buffers then hold anything.
// Nothing of CUDA is needed to build, and its driver (11.7 or newer) only when one is made.
#pragma once

#include <memory>
#include <string>

#include "rondo/rondo.h"

struct CUstream_st;

namespace rondo {

struct Call;

/// What cudaStream_t and CUstream are. Null: the legacy default stream of the current context.
using CudaStream = CUstream_st*;

namespace stream {
class StreamCalls;
}

/// A group of ranks whose calls go into streams. Movable handle. Its destructor waits for nothing:
/// what is in streams goes on, and so do graphs, whose calls fail.
class StreamCommunicator {
 public:
  /// An empty handle.
  StreamCommunicator() = default;
  /// Takes the communicator over: nobody makes calls with it any more, but abort(); give a dup() of
  /// one that goes on. Not collective. Takes page-locked memory (4 MiB, and 1 MiB for each peer and
  /// direction of messages, 8 at first) of the CUDA context that is current in this thread, so not
  /// while it captures a stream. Throws Error{invalid_usage} without a context.
  explicit StreamCommunicator(Communicator communicator);
  explicit operator bool() const { return calls_ != nullptr; }

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }

  /// Collectives and messages as of Communicator, with the stream behind. In place as there.
  void all_reduce(const void* input, void* output, std::size_t count, DataType type,
                  const Reduction& how, CudaStream stream);
  void reduce_scatter(const void* input, void* output, std::size_t count, DataType type,
                      const Reduction& how, CudaStream stream);
  void all_gather(const void* input, void* output, std::size_t count, DataType type,
                  CudaStream stream);
  void broadcast(const void* input, void* output, std::size_t count, DataType type, int root,
                 CudaStream stream);
  void reduce(const void* input, void* output, std::size_t count, DataType type,
              const Reduction& how, int root, CudaStream stream);
  void all_to_all(const void* input, void* output, std::size_t count, DataType type,
                  CudaStream stream);
  void scatter(const void* input, void* output, std::size_t count, DataType type, int root,
               CudaStream stream);
  void gather(const void* input, void* output, std::size_t count, DataType type, int root,
              CudaStream stream);
  /// Blocks that differ in size. An all_to_all_v is a group of messages: counts are the host's, and
  /// a capture fixes them.
  void all_gather_v(const void* input, void* output, std::span<const std::size_t> counts,
                    DataType type, CudaStream stream);
  void reduce_scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                        DataType type, const Reduction& how, CudaStream stream);
  void gather_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                int root, CudaStream stream);
  void scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                 DataType type, int root, CudaStream stream);
  void all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received,
                    DataType type, CudaStream stream);
  void send(const void* buffer, std::size_t count, DataType type, int peer, CudaStream stream);
  void recv(void* buffer, std::size_t count, DataType type, int peer, CudaStream stream);

  /// Throws why no call can succeed any more, if so. Any thread; waits for nothing.
  void check();
  /// Returns when all its calls in streams are complete; throws what one failed with.
  void finish();
  /// What this rank has sent, as Communicator::traffic(). Any thread; waits for a call that is
  /// under way.
  Traffic traffic() const { return communicator_.traffic(); }
  /// Ends what is under way on every rank, as Communicator::abort(). Any thread.
  void abort(const std::string& reason = {}) noexcept { communicator_.abort(reason); }
  /// As Communicator::set_timeout(). Any thread.
  void set_timeout(std::chrono::milliseconds timeout) { communicator_.set_timeout(timeout); }
  /// finish(), and Communicator::finalize().
  void finalize();

 private:
  void call(const Call& call, const void* input, void* output, CudaStream stream);
  void ragged_call(const Call& call, std::span<const std::size_t> counts, const void* input,
                   void* output, CudaStream stream);
  void pass(bool sends, const void* input, void* output, std::size_t count, DataType type, int peer,
            CudaStream stream);

  Communicator communicator_;
  std::shared_ptr<stream::StreamCalls> calls_;
};

}  // namespace rondo
