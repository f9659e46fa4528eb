// Contest: whether calls of a kind go the direct way or by messages, found out by the calls
// themselves.
//
// Messages pass through slots that both processors keep in their caches; the direct way copies from
// memory to memory, or over the board, and starts with a look at everybody. Which is faster depends
// on how far apart the processors are, on the kernel, the load and the number of ranks to a core,
// by up to four times either way, and changes while a job runs: no table can know.
//
//   calls of a kind   DDD MMM DDD MMM DDD MMM S | the faster way ... | DDD MMM ...     128 in all
//
// A kind that comes up for the first time does as the next smaller one that knows, for a few calls.
//
// Six blocks in turn; a way's time is that of its best block, since longer ones are those of a rank
// that was held up. In call S, a direct one, every rank tells every other one its times, and all
// take the greatest: all choose alike. Large calls make blocks of one.
//
// Only direct calls see whether all buffers lie in windows, where direct always wins. So among
// messages a call looks now and then, and after one that saw windows all go direct.
//
// Never between ways whose results differ in a bit. A pure state machine without a clock; the same
// on every rank that tells it the same. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rondo/types.h"

namespace rondo::detail {

class Contest {
 public:
  enum class Way : std::uint8_t { direct, messages };

  /// Calls that compare: one collective, sizes up to the same power of two.
  struct Kind {
    Collective collective = Collective::all_reduce;
    std::size_t bytes = 0;  ///< of the index space
  };

  struct Turn {
    Way way = Way::direct;
    bool looks = false;    ///< direct if all memory lies in windows, or it is a staged call
    bool timed = false;    ///< tell add() how long it took
    bool settles = false;  ///< a direct call in which the ranks tell each other best()
  };

  /// Nanoseconds by way; 0: none.
  using Times = std::array<std::uint64_t, 2>;

  /// How the next call of this kind goes.
  Turn next(const Kind& kind);
  /// How long the call that next() spoke of took on this rank.
  void add(const Kind& kind, Way way, std::uint64_t nanoseconds);
  /// This rank's best block of each way, per call.
  Times best(const Kind& kind) const;
  /// Before a settling call goes on: the greatest of all ranks' times. True when the faster way is
  /// now known for the first time, or has changed.
  bool settle(const Kind& kind, const Times& slowest);
  /// In every direct call that looked: whether all memory lies in windows. How long such a call
  /// took is not for add().
  void saw(const Kind& kind, bool all_in_windows) { at(kind).windows = all_in_windows; }

  Way faster(const Kind& kind) const { return at(kind).faster; }

  static constexpr std::uint64_t period = 128;
  static constexpr std::uint64_t blocks = 6;
  static constexpr std::uint64_t inherited = 16;  ///< calls of a new kind before its first trial
  static constexpr double clearly = 0.9;          ///< faster only by a tenth: no to and fro
  /// Calls of a block.
  static constexpr std::uint64_t block(std::size_t bytes) { return bytes < large ? 3 : 1; }
  /// Among messages each so many-th call looks for windows: a meeting of all ranks, which large
  /// calls hardly notice.
  static constexpr std::uint64_t look_every(std::size_t bytes) {
    const std::uint64_t calls = (std::size_t{16} << 20) / (bytes + 1);
    return calls < 1 ? 1 : calls > 16 ? 16 : calls;
  }

 private:
  static constexpr std::size_t large = std::size_t{1} << 20;
  struct State {
    std::uint64_t call = 0;  ///< of the period
    Way faster = Way::direct;
    bool begun = false;
    bool known = false;  ///< by calls of its own
    bool windows = false;
    std::uint64_t sum = 0;  ///< nanoseconds of the block under way
    std::uint64_t summed = 0;
    Times best{};
  };
  static constexpr std::size_t sizes_kept = 65;

  /// A kind counts as smaller up to so many powers of two.
  static constexpr std::size_t akin = 3;

  static std::size_t place(const Kind& kind);
  void inherit(const Kind& kind);
  State& at(const Kind& kind) { return states_[place(kind)]; }
  const State& at(const Kind& kind) const { return states_[place(kind)]; }

  std::array<State, collectives.size() * sizes_kept> states_{};
};

}  // namespace rondo::detail
