// Which calls that would go by messages look whether all their buffers lie in windows.
//
// In windows ranks reach each other's memory, which is always faster than messages. But all ranks
// must meet to find out, which costs calls in ordinary memory time for nothing. So of each kind of
// such call the first one looks, and then one in so many. After one that saw windows all of them look.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "rondo/types.h"

namespace rondo::detail {

/// The same on every rank, as all see the same. Not thread-safe.
class WindowWatch {
 public:
  /// One collective, sizes up to the same power of two, blocks equal or not.
  struct Kind {
    Collective collective = Collective::all_reduce;
    std::size_t bytes = 0;  ///< of the index space
    bool ragged = false;    ///< blocks differ in size
  };

  /// `oversubscribed`: a meeting costs each rank a switch of its core, which large calls notice, too.
  explicit WindowWatch(bool oversubscribed) : oversubscribed_(oversubscribed) {}

  /// Whether the next call of this kind looks.
  bool looks(const Kind& kind) {
    State& state = at(kind);
    if (state.windows) return true;
    if (state.rest > 0) {
      --state.rest;
      return false;
    }
    state.rest = calls_between(oversubscribed_ ? 0 : kind.bytes);
    return true;
  }
  /// What a call that looked has seen.
  void saw(const Kind& kind, bool all_in_windows) { at(kind).windows = all_in_windows; }

  /// Calls that do not look between two that do: the larger the calls, the less a look costs.
  static constexpr std::uint32_t calls_between(std::size_t bytes) {
    constexpr std::size_t large = std::size_t{16} << 20;
    constexpr std::size_t most = 15;
    return static_cast<std::uint32_t>(std::min(most, large / (bytes + 1)));
  }

 private:
  struct State {
    bool windows = false;
    std::uint32_t rest = 0;
  };
  static constexpr std::size_t sizes = 65;

  State& at(const Kind& kind) {
    const std::size_t row = 2 * static_cast<std::size_t>(kind.collective) + (kind.ragged ? 1 : 0);
    return states_[row * sizes + static_cast<std::size_t>(std::bit_width(kind.bytes))];
  }

  bool oversubscribed_;
  std::array<State, 2 * collectives.size() * sizes> states_{};
};

}  // namespace rondo::detail
