// Contest: which of two ways of moving ordinary memory between the ranks of a machine is faster,
// found out by the calls themselves.
//
// Messages pass through slots that both processors keep in their caches; the kernel copies from
// memory to memory. Which is faster depends on how far apart the processors are, on the kernel and
// on the load, by up to four times either way, and changes while a job runs: no table can know.
//
//   calls of a kind    M K M K M K | the faster way, 122 times | M K M K M K | ...
//
// The least of three times is the way's own; longer ones are those of a rank that was held up.
// Every rank has a contest and tells it the same times in the same order, so that all choose alike
// without a word. Never between ways whose results differ in a bit. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rondo/types.h"

namespace rondo::detail {

class Contest {
 public:
  enum class Way : std::uint8_t { messages, copies };

  /// Calls that compare: one collective, sizes up to the same power of two.
  struct Kind {
    Collective collective = Collective::all_reduce;
    std::size_t bytes = 0;  ///< of the index space
  };

  /// Which way the next call of this kind takes.
  Way next(const Kind& kind);
  /// How long the last call of this kind took; before the next one asks. True when that settles
  /// which way is faster, for the first time or anew.
  bool record(const Kind& kind, Way way, std::uint32_t nanoseconds);

  Way faster(const Kind& kind) const { return at(kind).faster; }
  /// What the way took at best when the ways went turn about.
  std::uint32_t nanoseconds(const Kind& kind, Way way) const {
    return at(kind).nanoseconds[static_cast<std::size_t>(way)];
  }

  static constexpr std::uint64_t turns = 6;     ///< calls that go turn about ...
  static constexpr std::uint64_t period = 128;  ///< ... of so many
  static constexpr double clearly = 0.9;        ///< faster only by a tenth: no to and fro

 private:
  struct State {
    std::uint64_t calls = 0;
    std::uint64_t recorded = 0;
    Way faster = Way::messages;
    std::array<std::uint32_t, 2> nanoseconds{};
  };
  static constexpr std::size_t collectives_kept = 16;
  static constexpr std::size_t sizes_kept = 65;

  static std::size_t place(const Kind& kind);
  State& at(const Kind& kind) { return states_[place(kind)]; }
  const State& at(const Kind& kind) const { return states_[place(kind)]; }

  std::array<State, collectives_kept * sizes_kept> states_{};
};

constexpr Contest::Way other(Contest::Way way) {
  return way == Contest::Way::messages ? Contest::Way::copies : Contest::Way::messages;
}

}  // namespace rondo::detail
