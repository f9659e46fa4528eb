// rondo: collective communication between ranks, which are processes or threads.
//
//   #include <rondo/rondo.h>
//
//   #include <cstdio>
//   #include <vector>
//
//   int main() {
//     try {
//       auto world = rondo::Communicator::from_environment();  // one rank without a launcher
//       std::vector<float> values(1 << 20, static_cast<float>(world.rank() + 1));
//       world.all_reduce(values);  // each element becomes its sum over all ranks
//       std::printf("rank %d of %d: %g\n", world.rank(), world.size(), values[0]);
//       world.finalize();
//     } catch (const rondo::Error& error) {  // names the rank, the peer, the call and a remedy
//       std::fprintf(stderr, "%s\n", error.what());
//       return 1;
//     }
//   }
//
// This is tools/examples/hello.cc. Start it with `rondorun -n 4 hello`, torchrun, srun or mpirun.
//
// Each call has two forms. The typed form of rondo/typed.h takes spans and vectors, deduces the
// element type and checks the sizes. The other form takes pointers, a count and a DataType:
//
//   world.all_reduce(input, output, count, rondo::DataType::float32, rondo::ReduceOperator::max);
//
// A Reduction can say more than an operator. This one gives the same bits with every algorithm:
//
//   rondo::Reduction exact;
//   exact.reproducible = true;
//   world.all_reduce(values, exact);
//
// Memory that peers write and read by one-sided calls is a rondo::Window (rondo/window.h).
// An operator of your own, on elements of your own, is a rondo::Operator (rondo/operator.h).
//
// Rules for every call:
// - Counts are in elements. Where the comment says so, a count is that of one rank's block. Zero is
//   allowed.
// - In place means `input == output`. Where one buffer holds the blocks of all ranks, it means that
//   the other buffer is the rank's own block there. Any other overlap is an error.
// - Buffers are ordinary host memory. For GPU buffers and CUDA streams see rondo/stream.h.
// - Every rank of a communicator makes the same calls in the same order, with the same count, type,
//   operator and root.
// - If ranks disagree, every one of them gets Error{mismatch}. Every message is checked. A rank
//   notices at the latest in its next call that needs a message from a rank that disagrees. A
//   barrier is such a call. A root that only sends cannot notice by itself.
// - One thread at a time uses a communicator. Any thread may call abort(), set_timeout() and the
//   functions of Work.
// - A communicator belongs to the process that made it. In a child made by fork(), its calls are
//   errors, and abort() and the destructor do nothing.
// - No call waits without a limit: see RONDO_TIMEOUT. A failure is a rondo::Error that names rank,
//   peer, call and remedy. After a failure the ranks that live can agree() and shrink(), or destroy
//   the communicator. An argument that is refused before anything is sent is no failure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rondo/error.h"
#include "rondo/operator.h"
#include "rondo/traffic.h"
#include "rondo/typed.h"
#include "rondo/types.h"
#include "rondo/version.h"
#include "rondo/window.h"
#include "rondo/work.h"

namespace rondo {

/// The library's version as "MAJOR.MINOR.PATCH". <rondo/version.h> has that of the headers.
const char* version();

/// Names one bootstrap: where the ranks of a new world find each other. One process makes it, and
/// the user carries its bytes to the others. The process that made it serves the bootstrap until it
/// exits. Trivially copyable.
struct UniqueId {
  std::array<char, 128> bytes{};
};

/// Starts a bootstrap service in this process and returns its name.
UniqueId make_unique_id();

/// Settings of one communicator. Defaults come from the environment (RONDO_TRANSPORT,
/// RONDO_ALGORITHM, RONDO_TIMEOUT, ...). A field that is set here wins.
struct Options {
  /// "shm", "tcp,shm", "^shm" (all but shm). Empty: the best one available for each pair of ranks.
  std::string transport{};
  /// "ring", "^ring" (all but ring), "all_reduce:ring;broadcast:chain". Empty: rondo chooses
  /// for each call.
  std::string algorithm{};
  /// Schedules of your own: a folder or a file, which rank 0 reads. Empty: RONDO_SCHEDULES.
  std::string schedules{};
  /// The longest silence of a peer inside a call. 0: RONDO_TIMEOUT.
  std::chrono::milliseconds timeout{0};
  /// Every call that reduces floats has Reduction::reproducible. Unset: RONDO_REPRODUCIBLE.
  std::optional<bool> reproducible{};
  /// Every call that reduces floats accumulates in wide_type(), if there is one. Unset:
  /// RONDO_ACCUMULATE.
  std::optional<bool> accumulate_wide{};
  /// Data that changes on its way between ranks is an Error{system}. Unset: RONDO_CHECKSUM.
  std::optional<bool> checksum{};
};

/// What the ranks of a communicator that live have agreed on. Equal on all of them.
struct Agreed {
  std::uint64_t flags = 0;  ///< the bitwise and of what they passed
  std::vector<int> lost{};  ///< the other ranks: they died, left, or did not come in time
};

/// A group of ranks. A handle that can be moved. The last handle's destructor finalizes without
/// throwing. If an exception destroys it, it aborts the calls under way.
class Communicator : public TypedCalls<Communicator> {
  using Typed = TypedCalls<Communicator>;

 public:
  /// An empty handle, like the one that split() returns to ranks with a negative color.
  Communicator() = default;
  explicit operator bool() const { return state_ != nullptr; }

  /// Joins the world that the environment describes: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
  /// (rondorun, torchrun), or the variables of Slurm or MPI. Without them: a world of one rank.
  static Communicator from_environment(const Options& options = {});
  /// Every rank passes the same id. Any rank may have made it.
  static Communicator from_unique_id(const UniqueId& id, int rank, int ranks,
                                     const Options& options = {});
  /// `ranks` communicators of one world inside this process: one for each thread.
  static std::vector<Communicator> from_threads(int ranks, const Options& options = {});

  int rank() const;
  int size() const;

  /// Collective. Ranks of equal color form a new communicator, ordered by (key, rank). A negative
  /// color returns an empty handle.
  Communicator split(int color, int key = 0);
  /// Collective. A communicator of the same ranks with channels of its own.
  Communicator dup();
  /// Stops this communicator on every rank. Calls in flight end with Error{aborted}. Any thread.
  void abort(const std::string& reason = {}) noexcept;

  // Recovery. The names and meanings are those of MPI's ULFM proposal. A failure stops a
  // communicator on every rank, so survivors need no revoke() for it. core/control/README.md
  // has the usual order of calls.

  /// The same as abort(), by its name in ULFM: calls end on every rank, so that all come to agree()
  /// or shrink(). Any thread.
  void revoke(const std::string& reason = {}) noexcept { abort(reason); }
  /// Collective over the ranks that live; works after a failure, too. It goes by the control
  /// channel. Waits for each rank until that comes, dies, leaves, or is late by the timeout. Late
  /// ranks count as lost: their next agree() or shrink() throws Error{timeout}. So it does on all
  /// ranks where those that came are too few to go on (core/control/README.md). abort() ends the wait
  /// of its own rank.
  Agreed agree(std::uint64_t flags = ~std::uint64_t{0});
  /// Collective over the ranks that live; works after a failure, too. A communicator of them, in the
  /// same order. It is made on all of them, or the same Error is thrown on all. This communicator
  /// stays as it is, to be destroyed.
  Communicator shrink();
  /// Collective. A communicator of `ranks` ranks, which must be more than there are. These keep
  /// their numbers. The others join by from_unique_id(id, rank, ranks), with the numbers from size()
  /// up. One rank passes the id; if more than one do, that of the lowest rank counts.
  Communicator grow(int ranks, const std::optional<UniqueId>& id = {});
  /// Sets how long a peer may be silent inside a call before this rank gives up. It holds from now
  /// on, also for calls under way and for communicators split from this one later. Until then
  /// Options::timeout or RONDO_TIMEOUT holds. Throws Error{invalid_argument} if it is below 1 ms.
  /// Any thread.
  void set_timeout(std::chrono::milliseconds timeout);
  /// Completes this rank's work, leaves the group and frees everything. Compares the last calls of
  /// all ranks, and waits at most 0.2 s for ranks that have made fewer calls. Throws
  /// Error{mismatch} if the calls differ and no call has reported it yet.
  void finalize();

  // The typed calls: see rondo/typed.h.
  using Typed::all_reduce, Typed::reduce_scatter, Typed::all_gather, Typed::broadcast,
      Typed::reduce, Typed::scan, Typed::exclusive_scan, Typed::all_to_all, Typed::scatter,
      Typed::gather, Typed::all_gather_v, Typed::reduce_scatter_v, Typed::gather_v,
      Typed::scatter_v, Typed::all_to_all_v, Typed::send, Typed::recv;
  using Typed::all_reduce_async, Typed::reduce_scatter_async, Typed::all_gather_async,
      Typed::broadcast_async, Typed::reduce_async, Typed::scan_async, Typed::exclusive_scan_async,
      Typed::all_to_all_async, Typed::scatter_async, Typed::gather_async, Typed::all_gather_v_async,
      Typed::reduce_scatter_v_async, Typed::gather_v_async, Typed::scatter_v_async,
      Typed::all_to_all_v_async, Typed::send_async, Typed::recv_async;

  /// output[i] = how's operator over input[i] of all ranks, on every rank.
  void all_reduce(const void* input, void* output, std::size_t count, DataType type,
                  const Reduction& how = {});
  /// input: size() blocks of `count`. output: this rank's block, reduced. In place:
  /// output == input + rank() * count.
  void reduce_scatter(const void* input, void* output, std::size_t count, DataType type,
                      const Reduction& how = {});
  /// input: this rank's block of `count`. output: the blocks of all ranks, in rank order. In place:
  /// input == output + rank() * count.
  void all_gather(const void* input, void* output, std::size_t count, DataType type);
  /// output on every rank = input on `root`. Only the root's `input` is read.
  void broadcast(const void* input, void* output, std::size_t count, DataType type, int root);
  /// output[i] on `root` = how's operator over input[i] of all ranks. Other ranks' `output` is not
  /// touched.
  void reduce(const void* input, void* output, std::size_t count, DataType type,
              const Reduction& how, int root);
  /// output[i] = how's operator over input[i] of the ranks 0 to rank(), in their order.
  /// ReduceOperator::avg is an error.
  void scan(const void* input, void* output, std::size_t count, DataType type,
            const Reduction& how = {});
  /// The same over the ranks below rank(). Rank 0's `output` is not touched.
  void exclusive_scan(const void* input, void* output, std::size_t count, DataType type,
                      const Reduction& how = {});
  /// Block j of `input` goes to rank j, which gets it as block rank() of `output`. A block has
  /// `count` elements. In place is an error.
  void all_to_all(const void* input, void* output, std::size_t count, DataType type);
  /// Block j of the root's `input` goes to rank j's `output`. A block has `count` elements.
  void scatter(const void* input, void* output, std::size_t count, DataType type, int root);
  /// Every rank's `input` goes to the root's `output`, in rank order. A block has `count` elements.
  void gather(const void* input, void* output, std::size_t count, DataType type, int root);

  /// The same calls with an operator of your own, whose elements `count` counts.
  void all_reduce(const void* input, void* output, std::size_t count, const Operator& own);
  void reduce_scatter(const void* input, void* output, std::size_t count, const Operator& own);
  void reduce(const void* input, void* output, std::size_t count, const Operator& own, int root);
  void scan(const void* input, void* output, std::size_t count, const Operator& own);
  void exclusive_scan(const void* input, void* output, std::size_t count, const Operator& own);

  /// Blocks that differ in size: rank r's block has counts[r] elements. The list has a count for
  /// each rank and is the same on every rank. Zero is allowed. The larger buffer holds all blocks
  /// in rank order without gaps. In place: the smaller buffer is the rank's own block there.
  void all_gather_v(const void* input, void* output, std::span<const std::size_t> counts,
                    DataType type);
  void reduce_scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                        DataType type, const Reduction& how = {});
  void gather_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                int root);
  void scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                 DataType type, int root);
  /// Each rank has lists of its own. sent.counts[r] elements go to rank r. received.counts[r]
  /// elements come from it, which must be as many as it sends. Received blocks must not overlap
  /// each other nor sent ones, so in place is an error. Each pair of ranks exchanges one message
  /// each way, in order with the pair's sends and receives.
  void all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received,
                    DataType type);
  /// Returns after every rank has entered.
  void barrier();
  /// One message. Sends and receives between a pair of ranks are matched in order. Those inside a
  /// Group run together.
  void send(const void* buffer, std::size_t count, DataType type, int peer);
  void recv(void* buffer, std::size_t count, DataType type, int peer);

  /// The same calls, but they return at once. The caller must not touch the buffers until the Work
  /// is complete. Lists of counts and displacements are read before the call returns.
  Work all_reduce_async(const void* input, void* output, std::size_t count, DataType type,
                        const Reduction& how = {});
  Work reduce_scatter_async(const void* input, void* output, std::size_t count, DataType type,
                            const Reduction& how = {});
  Work all_gather_async(const void* input, void* output, std::size_t count, DataType type);
  Work broadcast_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work reduce_async(const void* input, void* output, std::size_t count, DataType type,
                    const Reduction& how, int root);
  Work scan_async(const void* input, void* output, std::size_t count, DataType type,
                  const Reduction& how = {});
  Work exclusive_scan_async(const void* input, void* output, std::size_t count, DataType type,
                            const Reduction& how = {});
  Work all_to_all_async(const void* input, void* output, std::size_t count, DataType type);
  Work scatter_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work gather_async(const void* input, void* output, std::size_t count, DataType type, int root);
  Work all_reduce_async(const void* input, void* output, std::size_t count, const Operator& own);
  Work reduce_scatter_async(const void* input, void* output, std::size_t count,
                            const Operator& own);
  Work reduce_async(const void* input, void* output, std::size_t count, const Operator& own,
                    int root);
  Work scan_async(const void* input, void* output, std::size_t count, const Operator& own);
  Work exclusive_scan_async(const void* input, void* output, std::size_t count,
                            const Operator& own);
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
  /// Local. `count` is that of the call itself.
  std::string describe(Collective collective, std::size_t count, DataType type,
                       const Reduction& how = {}, int root = 0) const;
  /// What this rank has sent in this communicator so far. A call counts once it is complete. Local.
  /// Works after a failure, too. See rondo/traffic.h for what counts.
  Traffic traffic() const;

 private:
  friend struct detail::CommunicatorAccess;
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state);
  std::shared_ptr<detail::CommunicatorState> state_;
};

/// Makes calls run together. The calls that this thread makes between construction and wait(), on
/// any communicators, return at once, and wait() completes them all. So a send and a receive cannot
/// wait for each other:
///
///   rondo::Group group;
///   world.send(mine, next);
///   world.recv(theirs, previous);
///   group.wait();
///
/// Groups nest: the outermost one waits. The destructor waits, too, unless wait() was called. An
/// exception that leaves a group aborts the communicators of its unfinished calls.
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
