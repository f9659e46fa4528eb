// Which algorithm carries a call's messages where all links are alike: crossovers as measured, see
// bench/results; between hosts its choices-hosts file. Where hosts have several ranks, and beyond 8
// hosts, predicted times decide, but for gathers, scatters and sums in rank order (choose.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/plan/sizes.h"
#include "rondo/types.h"

namespace rondo {

/// `loopback`: a network whose two ends are one machine: processors decide there, not wires.
enum class On : std::uint8_t { memory, loopback, wire, network, both };

/// An algorithm is the choice on such links up to `most_bytes` and `most_ranks`. First match wins.
/// Crossovers as measured; see bench/results.
struct Rule {
  Collective collective;
  On links;
  std::string_view algorithm;
  std::size_t most_bytes;
  int most_ranks;
  std::string_view why;
};

/// With more hosts than were measured, predicted times decide.
inline constexpr int most_measured_hosts = 8;

inline constexpr std::string_view one_exchange = "one exchange, latency decides";
inline constexpr std::string_view few_rounds = "fewest rounds, latency decides";
inline constexpr std::string_view few_messages = "fewest messages, processors decide";
inline constexpr std::string_view least_bytes = "least bytes, neighbours only";
inline constexpr std::string_view pipelined = "every rank sends once, pipelined";
inline constexpr std::string_view shared_sums = "each rank adds its share, least bytes";

// clang-format off
inline constexpr Rule rules[] = {
    {Collective::all_reduce, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::all_reduce, On::memory, "one_shot", 2 * KiB, 8, one_exchange},
    {Collective::all_reduce, On::memory, "recursive_doubling", 8 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::memory, "two_shot", any_size, 4, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::memory, "two_shot", 512 * KiB, 8, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::loopback, "one_shot", 512 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::network, "one_shot", 128 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::network, "two_shot", any_size, 2, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::loopback, "recursive_doubling", 4 * KiB, 4, few_rounds},
    {Collective::all_reduce, On::loopback, "binomial_tree", 512 * KiB, 3, few_messages},
    {Collective::all_reduce, On::loopback, "ring", any_size, 3, least_bytes},
    {Collective::all_reduce, On::loopback, "binomial_tree", 2 * MiB, 4, few_messages},
    {Collective::all_reduce, On::loopback, "binomial_tree", 1 * MiB, any_ranks, few_messages},
    {Collective::all_reduce, On::network, "recursive_doubling", 32 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::wire, "circulant", 96 * KiB, 4, few_rounds},
    {Collective::all_reduce, On::wire, "circulant", 384 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::reduce_scatter, On::memory, "one_shot", any_size, 8, "one exchange, each element reduced once"},
    {Collective::reduce_scatter, On::memory, "circulant", 64 * KiB, any_ranks, few_rounds},
    {Collective::reduce_scatter, On::network, "one_shot", any_size, 2, one_exchange},
    {Collective::reduce_scatter, On::wire, "circulant", 96 * KiB, 4, few_rounds},
    {Collective::reduce_scatter, On::wire, "circulant", 384 * KiB, any_ranks, few_rounds},
    {Collective::reduce_scatter, On::loopback, "binomial_tree", 32 * KiB, any_ranks, few_messages},
    {Collective::reduce_scatter, On::loopback, "circulant", 256 * KiB, any_ranks, few_rounds},
    {Collective::reduce_scatter, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::all_gather, On::memory, "one_shot", any_size, 8, "one exchange, no forwarding"},
    {Collective::all_gather, On::memory, "circulant", 64 * KiB, any_ranks, few_rounds},
    {Collective::all_gather, On::network, "one_shot", 4 * MiB, 2, one_exchange},
    {Collective::all_gather, On::loopback, "binomial_tree", 8 * KiB, 3, few_messages},
    {Collective::all_gather, On::loopback, "circulant", 1 * MiB, 4, few_rounds},
    {Collective::all_gather, On::wire, "circulant", 96 * KiB, 4, few_rounds},
    {Collective::all_gather, On::wire, "circulant", 384 * KiB, any_ranks, few_rounds},
    {Collective::all_gather, On::loopback, "binomial_tree", 32 * KiB, any_ranks, few_messages},
    {Collective::all_gather, On::loopback, "circulant", 256 * KiB, any_ranks, few_rounds},
    {Collective::all_gather, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::broadcast, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::broadcast, On::wire, "binomial_tree", 16 * KiB, any_ranks, few_rounds},
    {Collective::broadcast, On::wire, "chain", any_size, any_ranks, pipelined},
    {Collective::broadcast, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::broadcast, On::both, "chain", any_size, any_ranks, pipelined},

    {Collective::reduce, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::reduce, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::reduce, On::both, "chain", any_size, any_ranks, pipelined},

    {Collective::scan, On::both, "chain", any_size, 8, pipelined},
    {Collective::scan, On::both, "recursive_doubling", 64 * KiB, any_ranks, few_rounds},
    {Collective::scan, On::both, "chain", any_size, any_ranks, pipelined},
    {Collective::exclusive_scan, On::both, "chain", any_size, 8, pipelined},
    {Collective::exclusive_scan, On::both, "recursive_doubling", 64 * KiB, any_ranks, few_rounds},
    {Collective::exclusive_scan, On::both, "chain", any_size, any_ranks, pipelined},

    {Collective::all_to_all, On::memory, "linear", 2 * MiB, 8, "no message waits for another"},
    {Collective::all_to_all, On::memory, "pairwise", any_size, any_ranks, "one partner at a time"},
    {Collective::all_to_all, On::loopback, "linear", any_size, 3, "no message waits for another"},
    {Collective::all_to_all, On::loopback, "bruck", 16 * KiB, 4, few_messages},
    {Collective::all_to_all, On::loopback, "linear", any_size, 4, "no message waits for another"},
    {Collective::all_to_all, On::loopback, "bruck", 64 * KiB, any_ranks, few_messages},
    {Collective::all_to_all, On::network, "linear", any_size, 4, "no message waits for another"},
    {Collective::all_to_all, On::network, "bruck", 32 * KiB, 8, few_messages},
    {Collective::all_to_all, On::network, "linear", any_size, 8, "no message waits for another"},
    {Collective::all_to_all, On::both, "pairwise", any_size, any_ranks, "one partner at a time"},
    {Collective::scatter, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::scatter, On::both, "linear", any_size, any_ranks, "each byte moved once"},
    {Collective::gather, On::network, "linear", any_size, 16, "no message waits for another"},
    {Collective::gather, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::gather, On::both, "linear", any_size, any_ranks, "each byte moved once"},
};

/// The same where contributions must be combined at once and in the order of ranks.
inline constexpr Rule rank_order_rules[] = {
    {Collective::all_reduce, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::all_reduce, On::loopback, "one_shot", 512 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::network, "one_shot", 128 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::both, "one_shot", 2 * KiB, 8, one_exchange},
    {Collective::all_reduce, On::both, "two_shot", any_size, any_ranks, shared_sums},
    {Collective::reduce_scatter, On::both, "one_shot", any_size, any_ranks, one_exchange},
    {Collective::reduce, On::both, "one_shot", 64 * KiB, any_ranks, one_exchange},
    {Collective::reduce, On::both, "two_shot", any_size, any_ranks, shared_sums},
    {Collective::scan, On::both, "one_shot", any_size, any_ranks, one_exchange},
    {Collective::exclusive_scan, On::both, "one_shot", any_size, any_ranks, one_exchange},
};
// clang-format on

}  // namespace rondo
