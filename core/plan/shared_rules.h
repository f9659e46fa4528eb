// Which calls go through shared memory, and how: crossovers as measured, see bench/results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/plan/shared.h"
#include "core/plan/sizes.h"
#include "core/schedule/collective.h"
#include "rondo/types.h"

namespace rondo {

/// Where all ranks share a machine. Sizes are those of the index space; the first match wins.
struct SharedRule {
  Collective collective;
  SharedChoice choice;
  std::size_t most_bytes;
  int most_ranks;
  std::string_view why;
};

inline constexpr SharedChoice shown_once{"one_shot", Places::copies};
inline constexpr SharedChoice shown_twice{"two_shot", Places::copies};
inline constexpr SharedChoice reached_once{"one_shot", Places::buffers};
inline constexpr SharedChoice reached_twice{"two_shot", Places::buffers};
/// The same as shown_once and reached_once, for blocks that are not added up.
inline constexpr SharedChoice shown_blocks{"linear", Places::copies};
inline constexpr SharedChoice reached_blocks{"linear", Places::buffers};
inline constexpr std::string_view one_look = "one look at everybody's copy";
inline constexpr std::string_view own_share = "every rank makes its share";
inline constexpr std::string_view in_place = "memory to memory, no copies in between";

// clang-format off
inline constexpr SharedRule shared_rules[] = {
    {Collective::all_reduce, shown_once, 32 * KiB, 4, one_look},
    {Collective::all_reduce, reached_twice, any_size, 4, in_place},
    {Collective::all_reduce, shown_once, 16 * KiB, 64, one_look},
    {Collective::all_reduce, shown_twice, any_size, 16, own_share},
    {Collective::all_reduce, shown_twice, 256 * KiB, 64, own_share},
    {Collective::all_reduce, reached_twice, any_size, 64, in_place},
    {Collective::reduce_scatter, shown_once, 16 * KiB, 2, one_look},
    {Collective::reduce_scatter, reached_once, any_size, 2, in_place},
    {Collective::reduce_scatter, shown_once, 32 * KiB, 4, one_look},
    {Collective::reduce_scatter, reached_once, any_size, 4, in_place},
    {Collective::reduce_scatter, shown_once, 2 * MiB, 16, one_look},
    {Collective::reduce_scatter, shown_once, 256 * KiB, 64, one_look},
    {Collective::reduce_scatter, reached_once, any_size, 64, in_place},
    {Collective::all_gather, shown_once, 16 * KiB, 2, one_look},
    {Collective::all_gather, reached_once, any_size, 2, in_place},
    {Collective::all_gather, shown_once, any_size, 16, one_look},
    {Collective::all_gather, shown_once, 1 * MiB, 64, one_look},
    {Collective::all_gather, reached_once, any_size, 64, in_place},
    {Collective::broadcast, shown_once, 16 * KiB, 2, one_look},
    {Collective::broadcast, reached_once, any_size, 2, in_place},
    {Collective::broadcast, shown_once, 4 * MiB, 16, one_look},
    {Collective::broadcast, shown_once, 256 * KiB, 64, one_look},
    {Collective::broadcast, reached_once, any_size, 64, in_place},
    {Collective::reduce, shown_once, 32 * KiB, 64, one_look},
    {Collective::reduce, reached_once, any_size, 64, in_place},
    {Collective::scan, shown_once, 1 * KiB, 64, one_look},
    {Collective::exclusive_scan, shown_once, 1 * KiB, 64, one_look},
    {Collective::all_to_all, shown_blocks, 16 * KiB, 2, one_look},
    {Collective::all_to_all, reached_blocks, any_size, 2, in_place},
    {Collective::all_to_all, shown_blocks, 32 * KiB, 4, one_look},
    {Collective::all_to_all, reached_blocks, any_size, 4, in_place},
    {Collective::all_to_all, shown_blocks, 1 * MiB, 16, one_look},
    {Collective::all_to_all, shown_blocks, 256 * KiB, 64, one_look},
    {Collective::all_to_all, reached_blocks, any_size, 64, in_place},
    {Collective::scatter, shown_blocks, 8 * KiB, 64, one_look},
    {Collective::scatter, reached_blocks, any_size, 64, in_place},
    {Collective::gather, shown_blocks, 8 * KiB, 64, one_look},
    {Collective::gather, reached_blocks, any_size, 64, in_place},
    {Collective::barrier, shown_once, any_size, 64, one_look},
};
// clang-format on

/// Sums of whole vectors are made in shares and stored to whoever wants them where all memory is in
/// windows; everything else runs the rule's algorithm there.
inline constexpr std::string_view shares_in_windows = "two_shot";
constexpr bool makes_shares(Collective collective) {
  return is_vector(collective) && info(collective).reduces && !is_scan(collective);
}

/// Whether what is shown as a copy may be read where it lies, in windows. A token lies nowhere. In place,
/// a rank of a scan writes where those above it read.
constexpr bool reads_windows(Collective collective) {
  return !is_token(collective) && !is_scan(collective);
}

/// Whether calls may run the merged program of an algorithm.
constexpr bool is_used(Collective collective, std::string_view algorithm, const Sharing& sharing,
                       int ranks) {
  if (sharing.posted == Posted::all) return false;
  if (sharing.posted == Posted::sums)
    return makes_shares(collective) && algorithm == shares_in_windows;
  return std::ranges::any_of(shared_rules, [&](const SharedRule& rule) {
    const bool in_windows =
        sharing.places == Places::buffers && !makes_shares(collective) && reads_windows(collective);
    return rule.collective == collective && rule.choice.algorithm == algorithm &&
           ranks <= rule.most_ranks && (rule.choice.places == sharing.places || in_windows);
  });
}

static_assert(std::ranges::all_of(shared_rules, [](const SharedRule& rule) {
  return rule.most_ranks <= most_sharing_ranks;
}));

}  // namespace rondo
