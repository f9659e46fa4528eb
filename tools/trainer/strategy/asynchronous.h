// Asynchronous data parallel: ranks train replicas of their own, and tell each other by one-sided puts
// what they have changed.
//
//   rank 0                                       rank 1
//   K steps; put the change / P, signal ----->   adds it to its replica before its next step,
//                                                and signals that the place is free
//
// K = 1 is hogwild, larger ones are local SGD. Each replica, the sender's too, keeps the P-th part of a
// change. So after settle() every replica is the start values plus the mean of all changes. While a peer
// has not taken the last change yet, later ones are added to the next.
//
// Without a limit, ranks that never hear of each other each go the whole way, and together they overshoot
// P-fold. So a rank waits when a peer has not taken a change for `staleness` steps; no change is then
// more than staleness + K steps stale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rondo/window.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// The changes that a rank has taken.
struct Staleness {
  std::uint64_t changes = 0;
  std::uint64_t steps = 0;    ///< stale by, in all
  std::uint64_t longest = 0;  ///< stale by, one of them
};

/// Belongs to one rank; one thread at a time. Errors are rondo::Error.
class Asynchronous {
 public:
  /// Parts of the rank's replica, in the same order and of the same sizes in every call.
  using Replica = std::vector<std::span<float>>;

  /// Local. `count`: numbers in a replica.
  struct Pace {
    std::size_t local_steps = 1;
    std::size_t staleness = 4;
  };
  Asynchronous(Communicator& world, Ledger& ledger, std::size_t count, const Pace& pace);

  /// Collective. The replicas are equal.
  void start(const Replica& replica);
  /// This rank has made a step: sends what is due, and takes what has come.
  void after_step(const Replica& replica);
  /// Collective. Takes everything that any rank has sent, and makes all replicas equal.
  void settle(const Replica& replica);
  Staleness staleness() const { return staleness_; }
  Traffic traffic() const { return window_ ? window_->traffic() : Traffic(); }

 private:
  /// What lies before a change's numbers.
  struct Header {
    std::uint64_t step;  ///< of the sender
    std::uint64_t seen;  ///< the receiver's step that the sender knew of
  };
  static constexpr std::size_t header_floats = sizeof(Header) / sizeof(float);
  /// Signals: a change lies in its place; the place is free again; all changes have been taken.
  static constexpr int arrived = 0;
  static constexpr int freed = 1;
  static constexpr int done = 2;

  struct Peer {
    std::span<float> place{};      ///< where its changes arrive here
    std::span<float> change{};     ///< for it, behind a header; this rank's own: the newest one
    bool is_done = false;          ///< it has told so, in settle()
    std::uint64_t due_since = 0;   ///< first step in `change`; 0: that is empty
    std::uint64_t sent_since = 0;  ///< of what lies in its place there; 0: that is free
    std::uint64_t seen = 0;        ///< its step, of the newest change taken

    /// The step of the oldest change that it has not taken; 0: it has taken all.
    std::uint64_t since() const { return sent_since > 0 ? sent_since : due_since; }
  };

  int rank() const { return world_.rank(); }
  /// What changes from here on is a change.
  void remember(const Replica& replica);
  void add_changes(const Replica& replica);
  void send(int to);
  void take(int from, const Replica& replica);
  void note_freed(int by);
  /// Sends and takes what can be sent and taken now.
  void exchange(const Replica& replica);
  /// Waits until a peer, `late` first, has sent or taken something.
  void wait_for_any(int late, const Replica& replica);
  /// Until is_late(peer) holds for no peer; for whom it did not hold, it never will.
  template <class IsLate>
  void wait_while(IsLate is_late, const Replica& replica);

  Communicator& world_;
  std::size_t count_;
  Pace pace_;
  Array<float> places_;   ///< the window's block: one for each peer
  Array<float> changes_;  ///< to be sent: one for each peer
  Array<float> base_;     ///< the replica without what this rank has changed since it last sent
  std::vector<Peer> peers_;
  std::uint64_t step_ = 0;
  bool settled_ = true;
  Staleness staleness_{};
  std::optional<Window> window_{};  ///< last: it ends before its block
};

}  // namespace rondo::train
