// Calls on GPU buffers, in the order of CUDA streams.
//
//   rondo::StreamCommunicator gpus(world.dup());             // a device is current in this thread
//   gpus.all_reduce(gradients, gradients, count, rondo::DataType::float32,
//                   rondo::ReduceOperator::sum, stream);     // cudaStream_t; returns at once
//   step<<<blocks, threads, 0, stream>>>(gradients, count);  // starts once the sum is there
//
// The rules of rondo/rondo.h hold, and these as well:
// - A call returns at once. It starts when all earlier work in its stream is complete. Later work
//   in the stream starts when the call is complete. Exceptions: the first call waits for the other
//   ranks, and ranks that are threads and share a device may wait for each other
//   (RONDO_JOIN_THREADS).
// - A call can be captured into a graph and replayed. Each replay reads and writes host buffers
//   anew.
// - A buffer lies on the device or on the host. The program must not touch it until the stream has
//   passed the call.
// - Calls of one communicator run one after the other, whatever their streams are. All streams
//   belong to the CUDA context that was current when the communicator was made.
// - A thread that makes calls for several ranks puts them into a rondo::Group. None of these calls
//   is in a stream before the outermost wait(). That wait() does not wait for streams.
// - Data in device memory goes from device to device where the devices reach each other, and
//   through the host's memory otherwise. In the first case the buffers of a call lie on devices on
//   all ranks, or on the host on all ranks.
// - check() or the next call reports a failure. Streams go on after a failure, and their buffers
//   then hold anything.
//
// Building a program needs nothing from CUDA. Making a StreamCommunicator needs the CUDA driver,
// 11.7 or newer.
#pragma once

#include <memory>
#include <string>

#include "rondo/rondo.h"

struct CUstream_st;

namespace rondo {

struct Call;

/// The type of cudaStream_t and CUstream. Null: the legacy default stream of the current context.
using CudaStream = CUstream_st*;

namespace dispatch {
class PreparedCalls;
}

/// A group of ranks whose calls go into streams. A handle that can be moved. Where devices reach
/// each other, its destructor returns when its calls are complete and the other ranks have read what
/// they need. Otherwise calls go on. Graphs can still be replayed, but their calls fail. An
/// exception that destroys it aborts the calls.
class StreamCommunicator {
 public:
  /// An empty handle.
  StreamCommunicator() = default;
  /// Takes the communicator over. The program makes no more calls with it, except abort(). To go on
  /// with it, or to make another one of it, pass its dup().
  /// - Collective, but it returns at once: a thread prepares device memory. The first call waits for
  ///   that, and taking memory may wait for the device. Call finish() before work that only ends
  ///   after a later call of this thread.
  /// - Takes page-locked memory of the CUDA context that is current in this thread. It is 4 MiB,
  ///   and 1 MiB for each peer and direction of messages. At first it is for at most 8 of these.
  /// - Takes memory of the device, too, where devices reach each other: 12 to 63 MiB. Where several hosts
  ///   have several each: all of this for two communicators more, and 16 MiB of the device.
  /// - So it must not be called while this thread captures a stream.
  /// - Throws Error{invalid_usage} without a context.
  explicit StreamCommunicator(Communicator communicator);
  explicit operator bool() const { return calls_ != nullptr; }

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }

  /// The collectives and messages of Communicator, with the stream as the last argument. In place
  /// means the same.
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
  /// Blocks that differ in size. The lists of counts lie in host memory. An all_to_all_v is a group
  /// of messages, and a capture fixes its counts.
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

  /// Throws the error after which no call can succeed any more, if there is one. Waits for nothing.
  /// Any thread.
  void check();
  /// Returns when all its calls in streams are complete. Throws the error of a call that failed.
  void finish();
  /// What this rank has sent, as Communicator::traffic(), but for what went from device to device.
  /// Waits for a call that is under way. Any thread.
  Traffic traffic() const { return communicator_.traffic(); }
  /// Ends the calls under way on every rank, as Communicator::abort(). Any thread.
  void abort(const std::string& reason = {}) noexcept { communicator_.abort(reason); }
  /// As Communicator::set_timeout(). Any thread.
  void set_timeout(std::chrono::milliseconds timeout) { communicator_.set_timeout(timeout); }
  /// finish(), then Communicator::finalize().
  void finalize();

 private:
  void call(const Call& call, const void* input, void* output, CudaStream stream);
  void ragged_call(const Call& call, std::span<const std::size_t> counts, const void* input,
                   void* output, CudaStream stream);
  void pass(bool sends, const void* input, void* output, std::size_t count, DataType type, int peer,
            CudaStream stream);

  Communicator communicator_;
  std::shared_ptr<dispatch::PreparedCalls> calls_;
};

}  // namespace rondo
