// Rendezvous: where ranks that are threads of one process and share a device bring their calls. The
// last of them puts all into the streams at once (together.h).
//
//   thread of rank 0   bring() ........ waits ........ put
//   thread of rank 1        bring() ... waits ........ put
//   thread of rank 2                 bring(): puts all three ranks' calls, one launch
//
// Why: otherwise each rank's call would wait in its stream for the calls of its peers. Streams of a
// context may share a hardware queue, where a wait holds up all that follows it, perhaps the peer's
// call. Then nothing moves. Here nothing in a stream waits for something that is put there later.
// So everything ends, whatever the streams share, even if all ranks use one stream.
//
// Rounds are numbered by the collectives that a rank has made, on any path. A thread goes on alone:
// - at once, when a peer has passed its round, because the peer's call took another path (its
//   buffers are on the host, its stream is captured)
// - at once, when the peer's calls come from this same thread
// - after `patience`, because the program may make a peer's call depend on what this thread does
//   next
//
// A wait in vain halves the patience of all. A meeting doubles it again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "core/cuda/api.h"

namespace rondo::dispatch {

struct World;

/// The meeting place of one communicator in this process. Threads: any, but each rank's calls one
/// at a time.
class Rendezvous {
 public:
  explicit Rendezvous(int ranks);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The one of the communicator with this identity. It lives as long as a rank holds it.
  static std::shared_ptr<Rendezvous> of(std::uint64_t identity, int ranks);

  /// A rank of this process takes part, in streams of `context`. `patience`: the longest of all
  /// ranks' counts.
  void enter(int rank, cuda::Context context, std::chrono::microseconds patience);
  /// It makes no further call.
  void leave(int rank);
  /// Whether calls may meet here: all ranks have entered, some share a context, none has left. Once
  /// all ranks' communicators are made it is never so where it was not.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }

  /// Brings the collectives that one thread's group or call makes for some ranks. True: they were
  /// put into the streams together with those of all others. False: they must take another path.
  /// Throws why that failed, on all ranks.
  bool bring(World& part);
  /// A rank makes so many collectives on another path.
  void pass(int rank, std::size_t collectives);

 private:
  enum class Outcome : std::uint8_t { waiting, running, together, apart };
  /// How many collectives of a part are one rank's.
  struct Share {
    std::size_t rank = 0;
    std::size_t collectives = 0;
  };
  /// What one thread has brought. It is on its stack, so no other thread may use it once it is
  /// over.
  struct Part {
    explicit Part(World& brought);
    World& world;
    std::vector<Share> shares{};
    /// Written under mutex_. Release where it is over, acquire where the thread looks without
    /// mutex_: then it sees what was done for it, `failure` too.
    std::atomic<Outcome> outcome{Outcome::waiting};
    std::exception_ptr failure{};  ///< its own copy
  };
  struct Rank {
    cuda::Context context = nullptr;
    std::uint64_t thread = 0;  ///< of its newest call: no two have the same, now or later
    std::uint64_t made = 0;    ///< collectives so far
    bool here = false;
    Part* part = nullptr;  ///< the one that waits, or runs
  };

  static bool is_over(const Part& part);
  bool some_share_a_context() const;
  bool may_meet(const Part& part) const;
  bool all_wait() const;
  bool run(std::unique_lock<std::mutex>& lock, const Part& last, std::vector<Part*> parts);
  bool wait(Part& part);
  void end(Part& part, Outcome outcome);
  void release_passed();

  std::mutex mutex_{};
  std::condition_variable changed_{};  ///< an outcome
  std::vector<Rank> ranks_;            ///< under mutex_, as all that follow
  std::chrono::microseconds longest_patience_{0};
  std::chrono::microseconds patience_{0};
  /// Written under mutex_. Relaxed: a thread that sees it set looks again under mutex_, and one
  /// that sees it unset has nothing to do.
  std::atomic<bool> open_{false};
};

}  // namespace rondo::dispatch
