#include "core/schedule/contribution.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/base/text.h"

namespace rondo {
namespace {

using Fault = Contribution::Fault;

constexpr int mask_bits = 64;

/// splitmix64's finalizer: a bijection whose output looks random.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t random_of(int rank) { return mix(static_cast<std::uint64_t>(rank)); }

constexpr std::uint64_t bit(int rank) { return std::uint64_t{1} << (rank % mask_bits); }

}  // namespace

ContributionAlgebra::ContributionAlgebra(const Schedule& header)
    : ranks_(header.ranks),
      token_(is_token(header.collective)),
      ordered_(is_scan(header.collective)),
      exact_(token_ || header.ranks <= mask_bits),
      sets_{0} {
  for (int rank = 0; rank < ranks_; ++rank)
    sets_.push_back(sets_.back() + (ranks_ <= mask_bits ? bit(rank) : random_of(rank)));
}

Contribution ContributionAlgebra::leaf(int rank, int chunk) {
  Contribution value;
  value.set = ranks_ <= mask_bits ? bit(rank) : random_of(rank);
  if (token_ && ranks_ > mask_bits) {
    std::vector<std::uint64_t> members(static_cast<std::size_t>(ranks_ / mask_bits + 1));
    members[static_cast<std::size_t>(rank / mask_bits)] = bit(rank);
    value.set = tokens_.size();
    tokens_.push_back(std::move(members));
  }
  value.tree = mix(~static_cast<std::uint64_t>(rank));
  value.count = 1;
  value.chunk = chunk;
  value.lowest = value.highest = rank;
  value.fault = Fault::none;
  return value;
}

Contribution ContributionAlgebra::combine(std::span<const Contribution> operands) {
  Contribution value = operands.front();
  std::uint64_t tree = mix(operands.size());
  for (const Contribution& operand : operands) tree = mix(tree * 3 + operand.tree);
  for (const Contribution& operand : operands.subspan(1)) value = merge(value, operand);
  value.tree = tree;
  return value;
}

Contribution ContributionAlgebra::merge(const Contribution& left, const Contribution& right) {
  Contribution value = left;
  if (left.fault == Fault::none) value.fault = right.fault;
  if (value.fault != Fault::none) return value;
  if (left.chunk != right.chunk) value.fault = Fault::mixed;
  if (ordered_ && left.highest > right.lowest) value.fault = Fault::disorder;
  value.lowest = std::min(left.lowest, right.lowest);
  value.highest = std::max(left.highest, right.highest);
  if (token_) {
    value.set = token(left, right);
    value.count = static_cast<std::uint32_t>(contributors(value).size());
    return value;
  }
  if (exact_ && (left.set & right.set) != 0) value.fault = Fault::twice;
  value.set = exact_ ? left.set | right.set : left.set + right.set;
  value.count = left.count + right.count;
  return value;
}

std::uint64_t ContributionAlgebra::token(const Contribution& left, const Contribution& right) {
  if (ranks_ <= mask_bits) return left.set | right.set;
  std::vector<std::uint64_t> members = tokens_[left.set];
  for (std::size_t i = 0; i < members.size(); ++i) members[i] |= tokens_[right.set][i];
  tokens_.push_back(std::move(members));
  return tokens_.size() - 1;
}

bool ContributionAlgebra::satisfies(const Contribution& value,
                                    const Expectation& expectation) const {
  if (value.fault != Fault::none || value.chunk != expectation.source_chunk) return false;
  if (value.count != static_cast<std::uint32_t>(expectation.ranks)) return false;
  if (token_) return true;
  const auto first = static_cast<std::size_t>(expectation.first);
  return value.set == sets_[first + static_cast<std::size_t>(expectation.ranks)] - sets_[first];
}

std::uint64_t ContributionAlgebra::rank_order_tree(int ranks) {
  std::vector<Contribution> leaves;
  for (int rank = 0; rank < ranks; ++rank) leaves.push_back(leaf(rank, 0));
  return leaves.size() == 1 ? leaves.front().tree : combine(leaves).tree;
}

std::vector<int> ContributionAlgebra::contributors(const Contribution& value) const {
  std::vector<int> ranks;
  if (!exact_ || value.fault == Fault::undefined) return ranks;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t word = ranks_ <= mask_bits
                                   ? value.set
                                   : tokens_[value.set][static_cast<std::size_t>(rank / mask_bits)];
    if ((word & bit(rank)) != 0) ranks.push_back(rank);
  }
  return ranks;
}

std::string ContributionAlgebra::text(const Contribution& value) const {
  if (value.fault == Fault::undefined) return "nothing";
  std::string words = std::to_string(value.count) + " contributions";
  if (exact_) {
    words = "{";
    for (const int rank : contributors(value))
      words += (words.size() == 1 ? "" : " ") + std::to_string(rank);
    words += "}";
  }
  words += " of chunk " + std::to_string(value.chunk);
  if (value.fault == Fault::mixed) words += " mixed with another chunk";
  if (value.fault == Fault::disorder) words += " not in the order of ranks";
  if (value.fault == Fault::twice) words += " with a rank counted twice";
  return words;
}

std::string ContributionAlgebra::text(const Expectation& expectation) const {
  const std::string chunk = " of chunk " + std::to_string(expectation.source_chunk);
  if (expectation.ranks == 1) return "{" + std::to_string(expectation.first) + "}" + chunk;
  if (expectation.ranks == ranks_) return "every rank once" + chunk;
  return "each of the ranks " + std::to_string(expectation.first) + " to " +
         std::to_string(expectation.first + expectation.ranks - 1) + " once" + chunk;
}

std::string ContributionAlgebra::missing(const Contribution& value,
                                         const Expectation& expectation) const {
  const bool known =
      exact_ && value.fault == Fault::none && value.chunk == expectation.source_chunk;
  if (!known) return {};
  const std::vector<int> there = contributors(value);
  std::vector<int> ranks;
  for (int rank = expectation.first; rank < expectation.first + expectation.ranks; ++rank)
    if (!std::ranges::binary_search(there, rank)) ranks.push_back(rank);
  return ranks.empty() ? "" : "; missing: " + rank_list(ranks);
}

std::string ContributionAlgebra::twice(std::span<const Contribution> operands) const {
  std::map<int, int> times;
  for (const Contribution& operand : operands) {
    if (operand.chunk != operands.front().chunk || token_) return {};
    for (const int rank : contributors(operand)) ++times[rank];
  }
  std::vector<int> ranks;
  for (const auto& [rank, count] : times)
    if (count > 1) ranks.push_back(rank);
  return ranks.empty() ? "" : "; counted twice: " + rank_list(ranks);
}

}  // namespace rondo
