// The sizes of one rank's buffers for a call of a given size, and the blocks of calls with unequal
// blocks in the forms that the libraries take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/compare/collective.h"

namespace rondo::compare {

/// The blocks of one of a rank's buffers, in the order of ranks. Made before anything is timed.
struct Lists {
  std::vector<std::size_t> counts{};
  std::vector<int> int_counts{};  ///< the same as MPI takes them
  std::vector<int> begins{};      ///< where each block begins, as MPI takes it
};

inline Lists lists_of(std::vector<std::size_t> counts) {
  Lists lists{std::move(counts)};
  int begin = 0;
  for (const std::size_t count : lists.counts) {
    lists.int_counts.push_back(static_cast<int>(count));
    lists.begins.push_back(begin);
    begin += static_cast<int>(count);
  }
  return lists;
}

/// Elements of one rank's buffers. The size of a call is that of the larger buffer of the rank that
/// has the largest. Where ranks exchange blocks the size is `ranks` blocks. Each has at least one
/// element, or one in the mean where blocks differ in size.
struct Deal {
  std::size_t block = 0;   ///< elements of one rank's part, or of everything where there are none
  std::size_t input = 0;   ///< elements of the input
  std::size_t output = 0;  ///< elements of the output
  std::vector<std::size_t> counts{};  ///< each rank's block; of an exchange see counts_to()
  Lists sent{};
  Lists received{};
};

inline Deal deal_of(const Subject& subject, std::size_t bytes, std::size_t rank,
                    std::size_t ranks) {
  const std::size_t vector = bytes / sizeof(float);
  const std::size_t block = std::max<std::size_t>(1, vector / ranks);
  Deal deal{.block = block};
  deal.counts = bench::counts_of(subject.count_pattern, block * ranks, ranks);
  const std::size_t own = deal.counts[rank];
  switch (subject.collective) {
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_v:
    case Collective::scatter_v:
      deal.input = block * ranks;
      deal.output = own;
      break;
    case Collective::all_gather:
    case Collective::all_gather_v:
    case Collective::gather_v:
      deal.input = own;
      deal.output = block * ranks;
      break;
    case Collective::all_to_all:
    case Collective::all_to_all_v:
      deal.input = deal.output = block * ranks;
      deal.sent = lists_of(bench::counts_to(deal.counts, rank));
      deal.received = lists_of(bench::counts_from(deal.counts, rank));
      return deal;
    case Collective::all_reduce:
    case Collective::scan:
    case Collective::exclusive_scan:
    case Collective::broadcast:
    case Collective::copy:
      deal.block = deal.input = deal.output = vector;
      return deal;
  }
  deal.sent = deal.received = lists_of(deal.counts);
  return deal;
}

}  // namespace rondo::compare
