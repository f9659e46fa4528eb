#include "core/plan/choose.h"

#include <algorithm>
#include <vector>

#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;
constexpr std::size_t any_size = ~std::size_t{0};

/// An algorithm is the choice up to `most_bytes` for at most `most_ranks`. First match wins.
/// Measured crossovers; see bench/results.
struct Rule {
  Collective collective;
  std::string_view algorithm;
  std::size_t most_bytes;
  int most_ranks;
  std::size_t slice_bytes;
  std::string_view why;
};

constexpr int any_ranks = 1 << 30;

constexpr Rule memory_rules[] = {
    {Collective::all_reduce, "one_shot", 8 * KiB, 4, 0, "one exchange, latency decides"},
    {Collective::all_reduce, "circulant", 8 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::all_reduce, "two_shot", any_size, 8, 0,
     "two exchanges, each byte moved least often"},
    {Collective::all_reduce, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::reduce_scatter, "one_shot", any_size, 8, 0,
     "one exchange, each element reduced once"},
    {Collective::reduce_scatter, "circulant", 64 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::reduce_scatter, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::all_gather, "one_shot", any_size, 8, 0, "one exchange, no forwarding"},
    {Collective::all_gather, "circulant", 64 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::all_gather, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::broadcast, "one_shot", 8 * KiB, 4, 0, "one exchange, latency decides"},
    {Collective::broadcast, "binomial_tree", 64 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::broadcast, "chain", any_size, any_ranks, 0, "every rank sends once, pipelined"},
    {Collective::reduce, "one_shot", 8 * KiB, 4, 0, "one exchange, latency decides"},
    {Collective::reduce, "binomial_tree", 64 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::reduce, "chain", any_size, any_ranks, 0, "every rank sends once, pipelined"},
    {Collective::all_to_all, "pairwise", any_size, any_ranks, 0, "one partner at a time"},
    {Collective::scatter, "binomial_tree", 64 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::scatter, "linear", any_size, any_ranks, 0, "each byte moved once"},
    {Collective::gather, "binomial_tree", 64 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::gather, "linear", any_size, any_ranks, 0, "each byte moved once"},
};

constexpr Rule network_rules[] = {
    {Collective::all_reduce, "one_shot", 32 * KiB, 4, 0, "one exchange, latency decides"},
    {Collective::all_reduce, "circulant", 128 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::all_reduce, "two_shot", any_size, 2, 0,
     "two exchanges, each byte moved least often"},
    {Collective::all_reduce, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::reduce_scatter, "circulant", 256 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::reduce_scatter, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::all_gather, "circulant", 256 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::all_gather, "ring", any_size, any_ranks, 0, "least bytes, neighbours only"},
    {Collective::broadcast, "binomial_tree", 64 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::broadcast, "chain", any_size, any_ranks, 0, "every rank sends once, pipelined"},
    {Collective::reduce, "binomial_tree", 64 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::reduce, "chain", any_size, any_ranks, 0, "every rank sends once, pipelined"},
    {Collective::all_to_all, "pairwise", any_size, any_ranks, 0, "one partner at a time"},
    {Collective::scatter, "binomial_tree", 64 * KiB, any_ranks, 0,
     "fewest rounds, latency decides"},
    {Collective::scatter, "linear", any_size, any_ranks, 0, "each byte moved once"},
    {Collective::gather, "binomial_tree", 64 * KiB, any_ranks, 0, "fewest rounds, latency decides"},
    {Collective::gather, "linear", any_size, any_ranks, 0, "each byte moved once"},
};

std::vector<std::string_view> names_of(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms()) {
    if (std::count(names.begin(), names.end(), row.name) == 0) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The names of `text` that a collective knows, in the same include or exclude form.
std::string known_part(std::string_view text, const std::vector<std::string_view>& known) {
  const bool excludes = text.starts_with('^');
  std::string kept;
  for (const std::string_view name : split(excludes ? text.substr(1) : text, ',')) {
    if (std::count(known.begin(), known.end(), name) == 0) continue;
    kept += (kept.empty() ? (excludes ? "^" : "") : ",") + std::string(name);
  }
  return kept;
}

template <std::size_t N>
const Rule* find_rule(const Rule (&rules)[N], Collective collective, std::size_t bytes, int ranks,
                      const AlgorithmSelection& selection) {
  for (const Rule& rule : rules) {
    if (rule.collective == collective && bytes <= rule.most_bytes && ranks <= rule.most_ranks &&
        selection.allows(collective, rule.algorithm)) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace

AlgorithmSelection::AlgorithmSelection(std::string_view text, std::string_view what) {
  for (const std::string_view part : split(text, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      Selection(part, all_names(), what);  // complains of names that no collective knows
      for (const CollectiveInfo& row : collectives) {
        const auto known = names_of(row.collective);
        by_collective_[static_cast<std::size_t>(row.collective)] =
            Selection(known_part(part, known), known, what);
      }
      continue;
    }
    const auto collective = parse_collective(part.substr(0, colon));
    if (!collective) {
      std::string known;
      for (const CollectiveInfo& row : collectives)
        known += (known.empty() ? "" : ", ") + std::string(row.name);
      throw Error(ErrorCode::configuration,
                  std::string(what) + " names an unknown collective \"" +
                      std::string(part.substr(0, colon)) + "\"",
                  {.remedy = "use one of: " + known});
    }
    by_collective_[static_cast<std::size_t>(*collective)] =
        Selection(part.substr(colon + 1), names_of(*collective), what);
  }
}

bool AlgorithmSelection::allows(Collective collective, std::string_view name) const {
  return by_collective_[static_cast<std::size_t>(collective)].allows(name);
}

bool AlgorithmSelection::restricts(Collective collective) const {
  return by_collective_[static_cast<std::size_t>(collective)].restricts();
}

Choice choose(Collective collective, std::size_t bytes, int ranks, LinkClass links,
              const AlgorithmSelection& selection) {
  const Rule* rule = links == LinkClass::memory
                         ? find_rule(memory_rules, collective, bytes, ranks, selection)
                         : find_rule(network_rules, collective, bytes, ranks, selection);
  if (rule != nullptr) {
    if (const Algorithm* row = find_algorithm(collective, rule->algorithm)) {
      const bool told = selection.restricts(collective);
      return {row, rule->slice_bytes,
              std::string(rule->why) + (told ? ", among those allowed" : "")};
    }
  }
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && selection.allows(collective, row.name)) {
      return {&row, 0, selection.restricts(collective) ? "forced" : "the only one"};
    }
  }
  throw Error(ErrorCode::configuration,
              "the algorithm selection leaves none for " + std::string(name(collective)),
              {.remedy = "allow at least one algorithm of it; `rondo list` shows them"});
}

}  // namespace rondo
