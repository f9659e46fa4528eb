// Which calls take the direct path, and how: crossovers as measured, see bench/results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/plan/direct.h"
#include "core/plan/sizes.h"
#include "rondo/types.h"

namespace rondo {

/// Where all ranks share a machine. Sizes are those of the index space; the first match wins.
struct DirectRule {
  Collective collective;
  DirectChoice way;
  std::size_t most_bytes;
  int most_ranks;
  std::string_view why;
};

inline constexpr DirectChoice shown_once{.staged = true, .mode = DirectMode::one_shot};
inline constexpr DirectChoice shown_twice{.staged = true, .mode = DirectMode::two_shot};
inline constexpr DirectChoice exposed_once{.staged = false, .mode = DirectMode::one_shot};
inline constexpr DirectChoice exposed_twice{.staged = false, .mode = DirectMode::two_shot};
inline constexpr std::string_view one_look = "one look at everybody's copy, latency decides";
inline constexpr std::string_view own_share = "every rank makes its share";
inline constexpr std::string_view in_place = "memory to memory, no copies in between";

// clang-format off
inline constexpr DirectRule direct_rules[] = {
    {Collective::all_reduce, shown_once, 32 * KiB, 4, one_look},
    {Collective::all_reduce, exposed_twice, any_size, 4, in_place},
    {Collective::all_reduce, shown_once, 16 * KiB, 64, one_look},
    {Collective::all_reduce, shown_twice, 256 * KiB, 64, own_share},
    {Collective::all_reduce, exposed_twice, any_size, 64, in_place},
    {Collective::reduce_scatter, shown_once, 16 * KiB, 2, one_look},
    {Collective::reduce_scatter, exposed_once, any_size, 2, in_place},
    {Collective::reduce_scatter, shown_once, 256 * KiB, 64, one_look},
    {Collective::reduce_scatter, exposed_once, any_size, 64, in_place},
    {Collective::all_gather, shown_once, 16 * KiB, 2, one_look},
    {Collective::all_gather, exposed_once, any_size, 2, in_place},
    {Collective::all_gather, shown_once, 1 * MiB, 64, one_look},
    {Collective::all_gather, exposed_once, any_size, 64, in_place},
    {Collective::broadcast, shown_once, 16 * KiB, 2, one_look},
    {Collective::broadcast, exposed_once, any_size, 2, in_place},
    {Collective::broadcast, shown_once, 256 * KiB, 64, one_look},
    {Collective::broadcast, exposed_once, any_size, 64, in_place},
    {Collective::reduce, shown_once, 32 * KiB, 64, one_look},
    {Collective::reduce, exposed_once, any_size, 64, in_place},
    {Collective::all_to_all, shown_once, 16 * KiB, 2, one_look},
    {Collective::all_to_all, exposed_once, any_size, 2, in_place},
    {Collective::all_to_all, shown_once, 256 * KiB, 64, one_look},
    {Collective::all_to_all, exposed_once, any_size, 64, in_place},
    {Collective::scatter, shown_once, 32 * KiB, 64, one_look},
    {Collective::scatter, exposed_once, any_size, 64, in_place},
    {Collective::gather, shown_once, 32 * KiB, 64, one_look},
    {Collective::gather, exposed_once, any_size, 64, in_place},
    {Collective::barrier, shown_once, any_size, 64, one_look},
};
// clang-format on

static_assert(std::ranges::all_of(direct_rules, [](const DirectRule& rule) {
  return rule.most_ranks <= most_direct_ranks;
}));

}  // namespace rondo
