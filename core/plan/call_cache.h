// CallCache: what is worked out for calls, by what they have in common, so that a repeated call is
// only looked up. Set-associative: a fixed table of sets of a few entries each. The oldest entry of a
// full set is replaced. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/control/call.h"
#include "core/plan/ragged.h"

namespace rondo {

/// Prepared has a `call`, and `counts` where its calls may be ragged.
template <class Prepared>
class CallCache {
 public:
  using Entry = std::shared_ptr<const Prepared>;

  CallCache() = default;
  CallCache(const CallCache&) = delete;
  CallCache& operator=(const CallCache&) = delete;

  /// The entry of calls equal to `key` but for the sequence, and of these counts; made by make()
  /// when there is none.
  template <class Make>
  const Entry& find(const Call& key, Counts counts, Make&& make) {
    if (*newest_ && same(**newest_, key, counts)) return *newest_;
    Set& set = sets_[set_of(key)];
    for (const Entry& entry : set.ways) {
      if (entry && same(*entry, key, counts)) return *(newest_ = &entry);
    }
    Entry made = std::forward<Make>(make)();
    Entry& way = set.ways[set.oldest];
    set.oldest = (set.oldest + 1) % set.ways.size();
    way = std::move(made);
    return *(newest_ = &way);
  }

 private:
  struct Set {
    std::array<Entry, 4> ways{};
    std::size_t oldest = 0;
  };

  static bool same(const Prepared& entry, const Call& b, Counts counts) {
    if constexpr (requires { entry.counts; }) {
      if (!std::ranges::equal(entry.counts, counts)) return false;
    }
    const Call& a = entry.call;
    return alike(a, b) && (a.own == nullptr || *a.own == *b.own);
  }
  static std::size_t set_of(const Call& key) {
    const std::uint64_t kinds =
        static_cast<std::uint64_t>(key.collective) << 48 ^
        static_cast<std::uint64_t>(key.type) << 40 ^ static_cast<std::uint64_t>(key.op) << 32 ^
        static_cast<std::uint64_t>(key.accumulate) << 56 ^
        static_cast<std::uint64_t>(key.reproducible) << 63 ^ static_cast<std::uint32_t>(key.root) ^
        static_cast<std::uint64_t>(key.operator_code) << 32;
    // Multiplication carries upwards only: the topmost bits are the ones that all of the key
    // reaches.
    return ((key.count + key.blocks + 1) * 0x9e3779b97f4a7c15u ^ kinds * 0xc2b2ae3d27d4eb4fu) >>
           (64 - set_bits);
  }

  static constexpr int set_bits = 6;
  std::array<Set, std::size_t{1} << set_bits> sets_{};
  const Entry* newest_ = &sets_[0].ways[0];  ///< what find() returned last: most calls repeat
};

}  // namespace rondo
