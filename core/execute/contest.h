// Contest, the autotuner: finds out, by the calls themselves, whether calls of a kind are faster on
// the direct path or by messages.
//
// Messages pass through slots that both processors keep in their caches. The direct path copies
// from memory to memory, or through the control block, and starts with a look at every rank. Which
// is faster depends on how far apart the processors are, on the kernel, on the load and on the
// number of ranks per core. It changes while a job runs. No table can know it.
//
//   a new kind   ? D M S w w w w ... w F F s S w w w ...
//
//   ?    looks whether all buffers lie in windows; if not, by messages
//   D M  one timed call of each path
//   w    a call by the faster path
//   F s  a trial: timed calls by the faster path (F) and by the slower one (s)
//   S    the ranks tell each other their times. All take the greatest, so that all choose alike,
//        for this call too.
//
// - The best of several calls counts: longer ones are those of a rank that was held up.
// - A trial of the slower path must be paid for. It comes after so many calls that its extra time
//   is a sixteenth of theirs, and ever more seldom while nothing changes.
// - A kind that comes up for the first time believes the next smaller one until it can pay for a
//   trial of its own. Where none is known the first call goes by messages, so that neither path is
//   timed while it makes its connections.
// - Where ranks have cores of their own, large calls are always timed. When the ranks meet they
//   tell each other how long the last two calls took. If the faster path has become slower than the
//   other one last was, the call in which they meet takes the other one. Processors that moved
//   apart can cause that.
// - Only direct calls see whether all buffers lie in windows, where direct always wins. So among
//   calls by messages one looks now and then. After a call that saw windows all calls go direct.
//
// It never chooses between paths whose results differ in a bit. A pure state machine without a
// clock: the same on every rank that tells it the same. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rondo/types.h"

namespace rondo::detail {

class Contest {
 public:
  enum class Way : std::uint8_t { direct, messages };

  /// Calls that compare: one collective, sizes up to the same power of two, blocks equal or not.
  struct Kind {
    Collective collective = Collective::all_reduce;
    std::size_t bytes = 0;  ///< of the index space
    bool ragged = false;    ///< blocks differ in size
  };

  struct Turn {
    Way way = Way::direct;
    bool looks = false;    ///< direct only if all memory lies in windows
    bool timed = false;    ///< tell add() how long it took
    bool settles = false;  ///< the ranks tell each other best(), then take the faster path
    bool watched = false;  ///< tell watch() how long it took
    bool hears = false;    ///< the ranks tell each other recent(), then take the faster path
  };

  /// Nanoseconds by path; 0: none.
  using Times = std::array<std::uint64_t, 2>;

  /// `watches`: large calls are always timed. Not where ranks are oversubscribed: there the time of
  /// a call depends on the scheduler, and changing to and fro gained nothing.
  explicit Contest(bool watches = true) : watches_(watches) {}

  /// How the next call of this kind goes.
  Turn next(const Kind& kind);
  /// How long the call that next() spoke of took on this rank.
  void add(const Kind& kind, Way way, std::uint64_t nanoseconds);
  /// This rank's best call of each path in the trial under way.
  Times best(const Kind& kind) const;
  /// Called before a settling call goes on. `slowest`: the greatest of all ranks' times. True when
  /// the faster path is now known for the first time, or has changed.
  bool settle(const Kind& kind, const Times& slowest);
  /// How long a watched call took on this rank, by the path that was the faster one in it.
  void watch(const Kind& kind, std::uint64_t nanoseconds);
  /// The better of the last two watched calls of the faster path; 0: there were no two.
  Times recent(const Kind& kind) const;
  /// Called before a hearing call goes on. `slowest`: the greatest of all ranks' recent(). True
  /// when the faster path has changed.
  bool hear(const Kind& kind, const Times& slowest);
  /// The size that times of large kinds are scaled to, as one kind holds calls that differ by up to
  /// two times. For other kinds, the call's own size.
  static std::size_t nominal_bytes(const Kind& kind);
  /// The times of the two paths that the ranks last exchanged, for nominal_bytes().
  const Times& heard(const Kind& kind) const { return at(kind).heard; }
  /// In every direct call that looked: whether all memory lies in windows. How long such a call
  /// took is not for add().
  void saw(const Kind& kind, bool all_in_windows) {
    at(kind).windows = all_in_windows;
    if (all_in_windows) at(kind).last = {};
  }

  Way faster(const Kind& kind) const { return at(kind).faster; }

  /// Calls by the faster path that pay for one by a path that takes twice as long.
  static constexpr double price = 16;
  /// Calls between trials of paths that are about equal.
  static constexpr double shortest_rest = 4;
  static constexpr double most_ratio = 4;        ///< beyond it a time is that of a rank held up
  static constexpr unsigned most_doublings = 3;  ///< of the rest, while trials find nothing new
  static constexpr double clearly = 0.9;         ///< faster only by a tenth: no to and fro
  static constexpr double slowed = 1.25;         ///< to the other path's time: without a trial
  static constexpr std::size_t watched_bytes = std::size_t{256} << 10;  ///< and larger calls
  static constexpr std::size_t oftener = 8;  ///< watched calls look, to be heard
  /// Among messages, one call in so many looks for windows. All ranks must meet for that, which
  /// large calls hardly notice.
  static constexpr std::uint64_t look_every(std::size_t bytes) {
    const std::uint64_t calls = (std::size_t{16} << 20) / (bytes + 1);
    return calls < 1 ? 1 : calls > 16 ? 16 : calls;
  }

 private:
  struct State {
    Way faster = Way::direct;
    bool begun = false;
    bool known = false;  ///< by a trial of its own
    bool windows = false;
    double ratio = 0;        ///< the slower path's time to the faster one's; 0: no idea
    std::uint64_t rest = 0;  ///< calls before the next trial
    unsigned step = 0;       ///< of the trial
    unsigned unchanged = 0;  ///< trials that found nothing new, up to most_doublings
    Times best{};
    Times heard{};                        ///< of the slowest rank, newest
    std::array<std::uint64_t, 2> last{};  ///< watched calls of the faster path, this rank's
  };
  static constexpr std::size_t sizes_kept = 65;

  /// A kind counts as smaller up to so many powers of two.
  static constexpr std::size_t akin = 3;

  static std::size_t place(const Kind& kind);
  static std::uint64_t scaled(const Kind& kind, std::uint64_t nanoseconds);
  static std::uint64_t rest_of(double ratio);
  void inherit(const Kind& kind);
  Turn trial(State& state);
  void turn_to(State& state, Way way);
  State& at(const Kind& kind) { return states_[place(kind)]; }
  const State& at(const Kind& kind) const { return states_[place(kind)]; }

  bool watches_;
  std::array<State, 2 * collectives.size() * sizes_kept> states_{};
};

}  // namespace rondo::detail
