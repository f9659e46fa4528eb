#include "core/plan/choose.h"

#include <algorithm>
#include <vector>

#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;
constexpr std::size_t any_size = ~std::size_t{0};
constexpr std::size_t never = ~std::size_t{0};

/// `loopback`: a network whose two ends are one machine: processors decide there, not wires.
enum class On : std::uint8_t { memory, loopback, network, both };

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

constexpr int any_ranks = 1 << 30;
constexpr std::string_view one_exchange = "one exchange, latency decides";
constexpr std::string_view few_rounds = "fewest rounds, latency decides";
constexpr std::string_view few_messages = "fewest messages, processors decide";
constexpr std::string_view least_bytes = "least bytes, neighbours only";
constexpr std::string_view pipelined = "every rank sends once, pipelined";

// clang-format off
constexpr Rule rules[] = {
    {Collective::all_reduce, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::all_reduce, On::memory, "one_shot", 2 * KiB, 8, one_exchange},
    {Collective::all_reduce, On::memory, "recursive_doubling", 8 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::memory, "two_shot", any_size, 4, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::memory, "two_shot", 512 * KiB, 8, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::loopback, "one_shot", 512 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::network, "one_shot", 128 * KiB, 2, one_exchange},
    {Collective::all_reduce, On::network, "two_shot", any_size, 2, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::network, "recursive_doubling", 32 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::loopback, "recursive_doubling", 128 * KiB, 4, few_rounds},
    {Collective::all_reduce, On::loopback, "binomial_tree", 256 * KiB, any_ranks, few_messages},
    {Collective::all_reduce, On::network, "two_shot", 384 * KiB, 4, "two exchanges, each byte moved least often"},
    {Collective::all_reduce, On::network, "circulant", 128 * KiB, any_ranks, few_rounds},
    {Collective::all_reduce, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::reduce_scatter, On::memory, "one_shot", any_size, 8, "one exchange, each element reduced once"},
    {Collective::reduce_scatter, On::memory, "circulant", 64 * KiB, any_ranks, few_rounds},
    {Collective::reduce_scatter, On::network, "one_shot", any_size, 2, one_exchange},
    {Collective::reduce_scatter, On::network, "circulant", 256 * KiB, any_ranks, few_rounds},
    {Collective::reduce_scatter, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::all_gather, On::memory, "one_shot", any_size, 8, "one exchange, no forwarding"},
    {Collective::all_gather, On::memory, "circulant", 64 * KiB, any_ranks, few_rounds},
    {Collective::all_gather, On::network, "one_shot", 4 * MiB, 2, one_exchange},
    {Collective::all_gather, On::network, "circulant", 256 * KiB, any_ranks, few_rounds},
    {Collective::all_gather, On::both, "ring", any_size, any_ranks, least_bytes},

    {Collective::broadcast, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::broadcast, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::broadcast, On::both, "chain", any_size, any_ranks, pipelined},

    {Collective::reduce, On::memory, "one_shot", 8 * KiB, 4, one_exchange},
    {Collective::reduce, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::reduce, On::both, "chain", any_size, any_ranks, pipelined},

    {Collective::all_to_all, On::memory, "pairwise", any_size, any_ranks, "one partner at a time"},
    {Collective::all_to_all, On::network, "linear", any_size, 8, "no message waits for another"},
    {Collective::all_to_all, On::both, "pairwise", any_size, any_ranks, "one partner at a time"},
    {Collective::scatter, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::scatter, On::both, "linear", any_size, any_ranks, "each byte moved once"},
    {Collective::gather, On::both, "binomial_tree", 64 * KiB, any_ranks, few_rounds},
    {Collective::gather, On::both, "linear", any_size, any_ranks, "each byte moved once"},
};
// clang-format on

/// Where all ranks share a machine. Sizes are those of the index space; the first match wins.
struct DirectRule {
  Collective collective;
  DirectChoice way;
  std::size_t most_bytes;
  int most_ranks;
  std::size_t copies_from;  ///< exposed: from here on the kernel's copies beat messages
  std::string_view why;
};

constexpr DirectChoice shown_once{.staged = true, .mode = DirectMode::one_shot};
constexpr DirectChoice shown_twice{.staged = true, .mode = DirectMode::two_shot};
constexpr DirectChoice exposed_once{.staged = false, .mode = DirectMode::one_shot};
constexpr DirectChoice exposed_twice{.staged = false, .mode = DirectMode::two_shot};
constexpr std::string_view one_look = "one look at everybody's copy, latency decides";
constexpr std::string_view own_share = "every rank makes its share";
constexpr std::string_view in_place = "memory to memory, no copies in between";

// clang-format off
constexpr DirectRule direct_rules[] = {
    {Collective::all_reduce, shown_once, 32 * KiB, 4, never, one_look},
    {Collective::all_reduce, exposed_twice, any_size, 4, never, in_place},
    {Collective::all_reduce, shown_once, 16 * KiB, 64, never, one_look},
    {Collective::all_reduce, shown_twice, 256 * KiB, 64, never, own_share},
    {Collective::all_reduce, exposed_twice, any_size, 64, never, in_place},
    {Collective::reduce_scatter, shown_once, 16 * KiB, 2, never, one_look},
    {Collective::reduce_scatter, exposed_once, any_size, 2, never, in_place},
    {Collective::reduce_scatter, shown_once, 256 * KiB, 64, never, one_look},
    {Collective::reduce_scatter, exposed_once, any_size, 64, never, in_place},
    {Collective::all_gather, shown_once, 16 * KiB, 2, never, one_look},
    // Cores that share no cache: messages take up to four times as long, copies hardly more.
    {Collective::all_gather, exposed_once, any_size, 2, 32 * KiB, in_place},
    {Collective::all_gather, shown_once, 1 * MiB, 64, never, one_look},
    {Collective::all_gather, exposed_once, any_size, 64, 4 * MiB, in_place},
    {Collective::broadcast, shown_once, 16 * KiB, 2, never, one_look},
    {Collective::broadcast, exposed_once, any_size, 2, 128 * KiB, in_place},
    {Collective::broadcast, shown_once, 256 * KiB, 64, never, one_look},
    {Collective::broadcast, exposed_once, any_size, 64, never, in_place},
    {Collective::reduce, shown_once, 32 * KiB, 64, never, one_look},
    {Collective::reduce, exposed_once, any_size, 64, never, in_place},
    {Collective::all_to_all, shown_once, 16 * KiB, 2, never, one_look},
    {Collective::all_to_all, exposed_once, any_size, 2, never, in_place},
    {Collective::all_to_all, shown_once, 256 * KiB, 64, never, one_look},
    {Collective::all_to_all, exposed_once, any_size, 64, never, in_place},
    {Collective::scatter, shown_once, 32 * KiB, 64, never, one_look},
    {Collective::scatter, exposed_once, any_size, 64, never, in_place},
    {Collective::gather, shown_once, 32 * KiB, 64, never, one_look},
    {Collective::gather, exposed_once, any_size, 64, never, in_place},
    {Collective::barrier, shown_once, any_size, 64, never, one_look},
};
// clang-format on

/// The most that one rank shows on the board.
std::size_t shown_bytes(Collective collective, std::size_t bytes, int ranks) {
  const bool own_block = collective == Collective::all_gather || collective == Collective::gather;
  return own_block ? bytes / static_cast<std::size_t>(ranks) : bytes;
}

const DirectRule* find_direct_rule(Collective collective, std::size_t bytes,
                                   const Surroundings& around) {
  if (!around.direct || (bytes == 0 && !is_token(collective))) return nullptr;
  for (const DirectRule& rule : direct_rules) {
    if (rule.collective != collective || bytes > rule.most_bytes || around.ranks > rule.most_ranks)
      continue;
    if (!rule.way.staged ||
        shown_bytes(collective, bytes, around.ranks) <= stage_bytes(around.ranks))
      return &rule;
  }
  return nullptr;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names{direct_name};
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

bool is_on(On on, const Surroundings& around) {
  const bool network = around.links == LinkClass::network;
  switch (on) {
    case On::memory:
      return !network;
    case On::loopback:
      return network && around.one_machine;
    case On::network:
      return network;
    case On::both:
      break;
  }
  return true;
}

const Rule* find_rule(Collective collective, std::size_t bytes, const Surroundings& around,
                      const AlgorithmSelection& selection) {
  for (const Rule& rule : rules) {
    if (rule.collective == collective && is_on(rule.links, around) && bytes <= rule.most_bytes &&
        around.ranks <= rule.most_ranks && selection.allows(collective, rule.algorithm)) {
      return &rule;
    }
  }
  return nullptr;
}

/// By messages. No algorithm where the selection leaves none.
Choice choose_messages(Collective collective, std::size_t bytes, const Surroundings& around,
                       const AlgorithmSelection& selection) {
  const std::string note = selection.restricts(collective) ? ", among those allowed" : "";
  if (const Rule* rule = find_rule(collective, bytes, around, selection)) {
    return {find_algorithm(collective, rule->algorithm), std::string(rule->why) + note};
  }
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && selection.allows(collective, row.name)) {
      return {&row, selection.restricts(collective) ? "forced" : "the only one"};
    }
  }
  return {};
}

}  // namespace

AlgorithmSelection::AlgorithmSelection(std::string_view text, std::string_view what) {
  for (const std::string_view part : split(text, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      Selection(part, all_names(), what);  // complains of names that no collective knows
      for (const CollectiveInfo& row : collectives) {
        const auto known = algorithm_names(row.collective);
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
        Selection(part.substr(colon + 1), algorithm_names(*collective), what);
  }
}

bool AlgorithmSelection::allows(Collective collective, std::string_view name) const {
  return by_collective_[static_cast<std::size_t>(collective)].allows(name);
}

bool AlgorithmSelection::restricts(Collective collective) const {
  return by_collective_[static_cast<std::size_t>(collective)].restricts();
}

std::vector<std::string_view> algorithm_names(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  if (collective != Collective::send_recv) names.push_back(direct_name);
  return names;
}

Choice choose(Collective collective, std::size_t bytes, const Surroundings& around,
              const AlgorithmSelection& selection) {
  Choice choice = choose_messages(collective, bytes, around, selection);
  const bool direct_allowed = selection.allows(collective, direct_name);
  const bool forced = direct_allowed && choice.algorithm == nullptr;
  if (forced && around.direct) choice = choose_messages(collective, bytes, around, {});
  if (choice.algorithm == nullptr) {
    const std::string name_of = std::string(name(collective));
    if (direct_allowed)
      throw Error(
          ErrorCode::configuration,
          "the direct way of " + name_of + " needs all ranks on one machine, over shm or local",
          {.remedy = "allow another algorithm too; `rondo list` shows them"});
    throw Error(ErrorCode::configuration, "the algorithm selection leaves none for " + name_of,
                {.remedy = "allow at least one algorithm of it; `rondo list` shows them"});
  }
  const DirectRule* rule = direct_allowed ? find_direct_rule(collective, bytes, around) : nullptr;
  if (rule == nullptr) return choice;
  choice.direct = rule->way;
  choice.copies = around.copies && (forced || bytes >= rule->copies_from);
  choice.reason = std::string(rule->why) + (forced ? ", forced" : "");
  return choice;
}

}  // namespace rondo
