// rondo: collective communication between ranks (processes or threads).
//
//   auto world = rondo::Communicator::from_environment();      // under rondorun, torchrun, srun
//   world.all_reduce(input, output, count, rondo::DataType::float32, rondo::ReduceOperator::sum);
//   rondo::Reduction exact;                                    // the same bits by every algorithm
//   exact.reproducible = true;
//   world.all_reduce(input, output, count, rondo::DataType::float32, exact);
//
// Rules that hold for every call below:
// - Counts are elements, and are the *per-rank block* where the comment says so. Zero is allowed.
// - `input == output` (for blocks: the rank's own block of the larger buffer) means in place.
//   Any other overlap is an error. Buffers are ordinary host memory; for those of GPUs, in
//   the order of CUDA streams, see rondo/stream.h.
// - Every rank of a communicator makes the same calls in the same order with the same count, type,
//   operator and root. Every message is checked: disagreement is an Error of code `mismatch` on
//   every rank, at the latest in the next call that needs a message of a rank that disagrees (a
//   barrier does; a root that only sends cannot notice by itself).
// - A communicator may be used by one thread at a time, except abort() and the calls of Work,
//   which any thread may make.
// - It belongs to the process that made it: in a child by fork() its calls are errors, abort() and
//   its end do nothing.
// - Nothing waits for ever: see RONDO_TIMEOUT. A failure is a rondo::Error that names rank, peer,
//   call and remedy; after it the communicator can only be destroyed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rondo/error.h"
#include "rondo/traffic.h"
#include "rondo/types.h"

namespace rondo {

/// Library version as "MAJOR.MINOR.PATCH".
const char* version();

/// Names one bootstrap meeting. Made by one process, carried by the user to the others.
/// Trivially copyable; its maker serves the meeting until it exits.
struct UniqueId {
  std::array<char, 128> bytes{};
};

/// Starts a bootstrap service in this process and returns its name.
UniqueId make_unique_id();

/// Per-communicator settings. Defaults come from the environment (RONDO_TRANSPORT, RONDO_ALGORITHM,
/// RONDO_TIMEOUT, ...); a field set here wins over it.
struct Options {
  std::string transport{};  ///< "shm", "tcp,shm", "^shm"; empty: best available per pair
  std::string algorithm{};  ///< "ring", "^ring", "all_reduce:ring;broadcast:chain"; empty: chosen
  std::chrono::milliseconds timeout{
      0};  ///< longest silence of a peer inside a call; 0: environment
  /// All calls that reduce floats have Reduction::reproducible; unset: environment.
  std::optional<bool> reproducible{};
  /// All calls that reduce floats accumulate in wide_type() where there is one; unset: environment.
  std::optional<bool> accumulate_wide{};
};

/// Where the blocks of an all_to_all_v lie in one of a rank's buffers: block r, for or from rank r,
/// has counts[r] elements and begins displacements[r] elements behind the buffer's beginning.
/// Without displacements blocks lie one behind the other in rank order.
struct Blocks {
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> displacements{};
};

namespace detail {
class CommunicatorState;
class Operation;
struct CommunicatorAccess;
}  // namespace detail

/// A handle of asynchronous work. Copies refer to the same work. Dropping it does not cancel.
class Work {
 public:
  Work() = default;
  /// True once the work is complete. Makes progress. Throws the work's error.
  bool test();
  /// Returns when the work is complete; makes progress on this thread. Throws the work's error.
  void wait();
  /// Calls `notice` once, when the work is complete or has failed, or at once where it is already:
  /// on whichever thread completes it, which holds the communicator. So `notice` must be short,
  /// must not throw and not call rondo; test() and wait() may take a moment longer to agree. Once
  /// for each work.
  void when_complete(std::function<void()> notice);

 private:
  friend class Communicator;
  friend struct detail::CommunicatorAccess;
  std::shared_ptr<detail::CommunicatorState> state_;
  std::shared_ptr<detail::Operation> operation_;
};

/// A group of ranks. Movable handle; the last handle's destructor finalizes without throwing, and
/// aborts what is under way where an exception destroys it.
class Communicator {
 public:
  /// An empty handle, as split() returns to ranks with a negative color.
  Communicator() = default;
  explicit operator bool() const { return state_ != nullptr; }

  /// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun, rondorun), Slurm's or MPI's
  /// variables. With none of them set: a world of one rank.
  static Communicator from_environment(const Options& options = {});
  /// Every rank passes the same id. Any of them may have made it.
  static Communicator from_unique_id(const UniqueId& id, int rank, int ranks,
                                     const Options& options = {});
  /// `ranks` communicators of one world inside this process, one for each thread to use.
  static std::vector<Communicator> from_threads(int ranks, const Options& options = {});

  int rank() const;
  int size() const;

  /// Collective. Ranks of equal color form a new communicator, ordered by (key, rank).
  /// A negative color returns an empty handle.
  Communicator split(int color, int key = 0);
  /// Collective. The same ranks with channels of their own.
  Communicator dup();
  /// Stops this communicator on every rank: calls in flight end with Error `aborted`. Any thread.
  void abort(const std::string& reason = {}) noexcept;
  /// The longest silence of a peer inside a call that this rank waits out from now on, in calls
  /// under way, too, and in communicators split from this one later. At first Options::timeout or
  /// RONDO_TIMEOUT. Any thread. Throws Error{invalid_argument} below 1 ms.
  void set_timeout(std::chrono::milliseconds timeout);
  /// Waits for work of this rank, says goodbye, frees all. To compare the last calls it waits for
  /// ranks that have made fewer, 0.2 s at most: Error{mismatch} where they differ, untold before.
  void finalize();

  /// output[i] = how's operator over ranks of input[i], on every rank.
  void all_reduce(const void* input, void* output, std::size_t count, DataType type,
                  const Reduction& how = {});
  /// input: size() blocks of `count`; output: this rank's block, reduced. In place:
  /// output == input + rank() * count.
  void reduce_scatter(const void* input, void* output, std::size_t count, DataType type,
                      const Reduction& how = {});
  /// input: one block of `count`; output: size() blocks in rank order. In place:
  /// input == output + rank() * count.
  void all_gather(const void* input, void* output, std::size_t count, DataType type);
  /// output on every rank = input of `root`. `input` is read on the root only.
  void broadcast(const void* input, void* output, std::size_t count, DataType type, int root);
  /// output on `root` only = how's operator over ranks of input. `output` is not touched elsewhere.
  void reduce(const void* input, void* output, std::size_t count, DataType type,
              const Reduction& how, int root);
  /// Block j of input goes to rank j's block rank(). `count` elements a block. In place is an
  /// error.
  void all_to_all(const void* input, void* output, std::size_t count, DataType type);
  /// Block j of the root's input goes to rank j. `count` elements a block.
  void scatter(const void* input, void* output, std::size_t count, DataType type, int root);
  /// Every rank's block goes to the root's output in rank order. `count` elements a block.
  void gather(const void* input, void* output, std::size_t count, DataType type, int root);

  /// The same with blocks that differ in size: counts[r] elements of rank r, a count for each rank,
  /// the same list on every rank. Blocks lie one behind the other in rank order; those of no
  /// elements are allowed. In place: the rank's own block at its place in the larger buffer.
  void all_gather_v(const void* input, void* output, std::span<const std::size_t> counts,
                    DataType type);
  void reduce_scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                        DataType type, const Reduction& how = {});
  void gather_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                int root);
  void scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                 DataType type, int root);
  /// Every rank has lists of its own: sent.counts[r] elements go to rank r, received.counts[r] come
  /// from it, which must be what it sends. What is received must overlap nothing; so in place is an
  /// error. It is a message each way between each pair, in the order of that pair's others.
  void all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received,
                    DataType type);
  /// Returns after every rank has entered.
  void barrier();
  /// Matched by order between a pair of ranks. Inside a Group sends and receives run together.
  void send(const void* buffer, std::size_t count, DataType type, int peer);
  void recv(void* buffer, std::size_t count, DataType type, int peer);

  /// The same calls, returning at once. Buffers stay untouched by the caller until complete; lists
  /// of counts and displacements are read before they return.
  Work all_reduce_async(const void* input, void* output, std::size_t count, DataType type,
                        const Reduction& how = {});
  Work reduce_scatter_async(const void* input, void* output, std::size_t count, DataType type,
                            const Reduction& how = {});
  Work all_gather_async(const void* input, void* output, std::size_t count, DataType type);
  Work broadcast_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work reduce_async(const void* input, void* output, std::size_t count, DataType type,
                    const Reduction& how, int root);
  Work all_to_all_async(const void* input, void* output, std::size_t count, DataType type);
  Work scatter_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work gather_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work all_gather_v_async(const void* input, void* output, std::span<const std::size_t> counts,
                          DataType type);
  Work reduce_scatter_v_async(const void* input, void* output, std::span<const std::size_t> counts,
                              DataType type, const Reduction& how = {});
  Work gather_v_async(const void* input, void* output, std::span<const std::size_t> counts,
                      DataType type, int root);
  Work scatter_v_async(const void* input, void* output, std::span<const std::size_t> counts,
                       DataType type, int root);
  Work all_to_all_v_async(const void* input, const Blocks& sent, void* output,
                          const Blocks& received, DataType type);
  Work barrier_async();
  Work send_async(const void* buffer, std::size_t count, DataType type, int peer);
  Work recv_async(void* buffer, std::size_t count, DataType type, int peer);

  /// Which algorithm and transport a call would use here, and why, in one line of plain words.
  /// Local; `count` as for the call itself.
  std::string describe(Collective collective, std::size_t count, DataType type,
                       const Reduction& how = {}, int root = 0) const;
  /// What this rank has sent in this communicator so far; of a call once it is complete. Local;
  /// works after a failure, too. See rondo/traffic.h for what counts.
  Traffic traffic() const;

 private:
  friend struct detail::CommunicatorAccess;
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state);
  std::shared_ptr<detail::CommunicatorState> state_;
};

/// Calls made by this thread between construction and wait() are issued together, on any
/// communicators, so that a send and a receive cannot wait for each other:
///   rondo::Group group; comm.send(a, n, type, next); comm.recv(b, n, type, previous);
///   group.wait();
/// Groups nest: the outermost one waits. The destructor waits too when wait() was not called and no
/// exception is on its way.
class Group {
 public:
  Group();
  ~Group() noexcept(false);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void wait();

 private:
  int exceptions_;
  bool open_ = true;
};

}  // namespace rondo
