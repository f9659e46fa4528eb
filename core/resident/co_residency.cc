#include "core/resident/co_residency.h"

#include <algorithm>

namespace rondo::resident {
namespace {

std::string ranks(std::size_t first, std::size_t second) {
  return "ranks " + std::to_string(first) + " and " + std::to_string(second);
}

/// Why a pair of ranks may not run such kernels; empty: it may.
std::string obstacle_between(const std::vector<Candidate>& candidates, std::size_t first,
                             std::size_t second) {
  const Candidate& one = candidates[first];
  const Candidate& other = candidates[second];
  if (one.device != other.device) return {};
  if (one.process == other.process)
    return ranks(first, second) + " are of one process and use one device";
  if (one.shares && other.shares) return {};
  return ranks(first, second) + " take turns on one device, as MPS does not run there";
}

}  // namespace

std::string obstacle_of(const std::vector<Candidate>& candidates, unsigned blocks) {
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    if (!candidates[rank].obstacle.empty())
      return "rank " + std::to_string(rank) + ": " + candidates[rank].obstacle;
  }
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    for (std::size_t other = 0; other < rank; ++other) {
      if (std::string found = obstacle_between(candidates, other, rank); !found.empty())
        return found;
    }
  }
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    const auto sharers = static_cast<unsigned>(
        std::ranges::count(candidates, candidates[rank].device, &Candidate::device));
    const unsigned wanted = (candidates[rank].taken + blocks) * sharers;
    if (wanted <= most_that_wait(candidates[rank].blocks)) continue;
    return "rank " + std::to_string(rank) + ": the device runs " +
           std::to_string(candidates[rank].blocks) +
           " blocks at once, and with this communicator " + std::to_string(wanted) +
           " would wait, more than three quarters";
  }
  return {};
}

}  // namespace rondo::resident
