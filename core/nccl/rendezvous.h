// Rendezvous: where ranks of a communicator that are threads of one process, and share a device,
// bring their calls, so that the last of them puts all into the streams at once (world.h).
//
//   thread of rank 0   bring() ........ waits ........ put
//   thread of rank 1        bring() ... waits ........ put
//   thread of rank 2                 bring(): puts all three ranks' calls, one launch
//
// Otherwise each rank's call would wait in its stream for its peers', and streams of a context may
// share a hardware queue, where what waits holds up all behind it: a peer's call, too, and then
// nothing moves. Here nothing in a stream waits for what is put there later, so whatever streams
// share, even all ranks one stream, everything comes to its end.
//
// Rounds are numbered by the collectives that a rank has made, whatever way they went, so that
// ranks which do not bring a call (its buffers are on the host, its stream is captured) keep nobody
// waiting: who learns that a peer has passed its round goes on by itself, at once. So does who
// knows that a peer's calls come from its own thread; and who has waited for `patience`, as the
// program may make a peer's call depend on what this thread does next. Who waited in vain halves
// the patience of all, who met doubles it again.
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

namespace rondo::nccl {

struct World;

/// Of one communicator in this process. Threads: any, but each rank's calls one at a time.
class Rendezvous {
 public:
  explicit Rendezvous(int ranks);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The one of the communicator with this identity, as long as anybody has it.
  static std::shared_ptr<Rendezvous> of(std::uint64_t identity, int ranks);

  /// A rank of this process takes part, in streams of `context`; `patience`: the longest of all
  /// ranks' counts.
  void enter(int rank, cuda::Context context, std::chrono::microseconds patience);
  /// It makes no further call.
  void leave(int rank);
  /// Whether calls may meet here: all ranks have entered, some share a context, none has left. Once
  /// all ranks' communicators are made it is never so where it was not.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }

  /// What some ranks, those of one thread's group or call, ask of the communicator: collectives
  /// only. True when it was put into the streams together with what all others ask; false, when it
  /// must go another way. Throws why that failed, on all ranks.
  bool bring(World& part);
  /// A rank makes so many collectives in another way.
  void pass(int rank, std::size_t collectives);

 private:
  enum class Outcome : std::uint8_t { waiting, running, together, apart };
  /// Of one rank in a part.
  struct Share {
    std::size_t rank = 0;
    std::size_t collectives = 0;
  };
  /// What one thread has brought. On its stack, and so nobody's from the moment it is over.
  struct Part {
    explicit Part(World& brought);
    World& world;
    std::vector<Share> shares{};
    /// Written under mutex_. Release where it is over, acquire where the thread looks without
    /// mutex_: what was done for it, `failure` too, lies before.
    std::atomic<Outcome> outcome{Outcome::waiting};
    std::exception_ptr failure{};  ///< its own copy
  };
  struct Rank {
    cuda::Context context = nullptr;
    std::uint64_t thread = 0;  ///< of its newest call: no two have the same, now or later
    std::uint64_t made = 0;    ///< collectives so far
    bool here = false;
    Part* part = nullptr;  ///< that waits, or runs
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
  /// Written under mutex_; relaxed, as who sees it set looks again under mutex_, and who sees it
  /// unset has nothing to do.
  std::atomic<bool> open_{false};
};

}  // namespace rondo::nccl
