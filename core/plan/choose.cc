#include "core/plan/choose.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/text.h"
#include "core/plan/estimate.h"
#include "core/plan/message_rules.h"
#include "core/plan/shared_rules.h"
#include "core/schedule/collective.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// Up to so many bytes the number of messages decides, whichever rank sends them.
constexpr std::size_t least_lopsided = 64 * KiB;

const SharedRule* find_shared_rule(Collective collective, const CallSize& size,
                                   const Topology& around) {
  if (!around.direct || (size.bytes == 0 && !is_token(collective))) return nullptr;
  for (const SharedRule& rule : shared_rules) {
    if (rule.collective == collective && size.bytes <= rule.most_bytes &&
        around.ranks <= rule.most_ranks)
      return &rule;
  }
  return nullptr;
}

/// Of schedules that users wrote for the collective, each once.
void add_written(Collective collective, const Scripts& written, std::vector<std::string_view>& to) {
  for (const Script& script : written)
    if (script.collective() == collective && std::ranges::count(to, script.algorithm()) == 0)
      to.push_back(script.algorithm());
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names{direct_name, hierarchical_name};
  for (const Algorithm& row : algorithms()) {
    if (std::count(names.begin(), names.end(), row.name) == 0) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> names_in(std::string_view text) {
  return split(text.starts_with('^') ? text.substr(1) : text, ',');
}

/// The names that a collective knows, and those of compositions among `names`, which outlive them.
std::vector<std::string_view> known_names(Collective collective,
                                          const std::vector<std::string>& names,
                                          const Scripts& written) {
  std::vector<std::string_view> known = algorithm_names(collective);
  add_written(collective, written, known);
  for (const std::string& name : names)
    if (!find_composition(collective, name).inside.empty()) known.push_back(name);
  return known;
}

/// The names of `text` that a collective knows, in the same include or exclude form.
std::string known_part(std::string_view text, const std::vector<std::string_view>& known) {
  std::string kept;
  for (const std::string& name : names_in(text)) {
    if (std::count(known.begin(), known.end(), name) == 0) continue;
    kept += (kept.empty() ? (text.starts_with('^') ? "^" : "") : ",") + name;
  }
  return kept;
}

/// For every collective that knows some of the names. Complains of names that none knows.
void check_known(std::string_view text, std::string_view what, const Scripts& written) {
  const std::vector<std::string> names = names_in(text);
  std::vector<std::string_view> known = all_names();
  for (const CollectiveInfo& row : collectives)
    std::ranges::copy(known_names(row.collective, names, written), std::back_inserter(known));
  std::vector<std::string_view> each_once;
  for (const std::string_view name : known)
    if (std::ranges::count(each_once, name) == 0) each_once.push_back(name);
  Selection(text, each_once, what);
}

bool is_on(On on, const Topology& around) {
  const bool network = around.links == LinkClass::network;
  switch (on) {
    case On::memory:
      return !network;
    case On::loopback:
      return network && around.one_machine;
    case On::wire:
      return network && !around.one_machine;
    case On::network:
      return network;
    case On::both:
      break;
  }
  return true;
}

/// In one exchange a large block goes to each of the others from one rank, or is reduced by one.
bool suits(std::string_view algorithm, const CallSize& size, int ranks) {
  return algorithm != "one_shot" || !size.is_lopsided(ranks);
}

const Rule* find_rule(std::span<const Rule> table, Collective collective, const CallSize& size,
                      const Topology& around, const AlgorithmSelection& selection) {
  for (const Rule& rule : table) {
    if (rule.collective == collective && is_on(rule.links, around) &&
        size.bytes <= rule.most_bytes && around.ranks <= rule.most_ranks &&
        selection.allows(collective, rule.algorithm) && suits(rule.algorithm, size, around.ranks)) {
      return &rule;
    }
  }
  return nullptr;
}

/// All that may carry a collective: hierarchical ones where hosts have several ranks, or the
/// selection names some. Those of three levels only by their own names: nobody has measured what
/// crossing between sockets costs.
std::vector<Composition> compositions(Collective collective, const Topology& around,
                                      const AlgorithmSelection& selection) {
  std::vector<Composition> all;
  for (const Algorithm& row : algorithms())
    if (row.collective == collective) all.push_back({.across = &row});
  const bool names_some = selection.restricts(collective) && !selection.excludes(collective);
  if (names_some || Hosts(around).have_two_levels())
    std::ranges::copy(hierarchical_compositions(collective), std::back_inserter(all));
  if (names_some)
    std::ranges::copy_if(
        hierarchical_compositions(collective, Levels::three), std::back_inserter(all),
        [&](const auto& each) { return selection.allows(collective, each.name()); });
  return all;
}

/// Predicted times that differ by less say nothing.
constexpr double alike = 1.02;

/// The fastest by predicted time; empty where there is none. Among equals a composition, since it
/// spares the ports. Among these, where bytes decide, one that only sends to neighbours, as nothing
/// meets at a switch. Else one by leaders, as it sends the fewest messages. Then the one with the
/// fewest hops.
Composition fastest(const std::vector<Composition>& all, const CallSize& size,
                    const Topology& around) {
  const Estimates estimates(around);
  std::vector<Estimate> found;
  for (const Composition& each : all)
    found.push_back(estimates.of(each, static_cast<double>(size.bytes)));
  if (all.empty()) return {};
  const double least = std::ranges::min(found, {}, &Estimate::seconds).seconds;
  const auto rank = [&](std::size_t i) {
    const bool flat = all[i].inside.empty();
    const bool liked = found[i].by_bytes ? found[i].neighbours_only : !flat && all[i].by_leaders();
    return std::tuple(found[i].seconds > least * alike, flat, !liked, found[i].hops);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (rank(i) < rank(best)) best = i;
  return all[best];
}

/// The choice among messages; no algorithm where the selection leaves none.
Choice choose_messages(Collective collective, const CallSize& size, const Topology& around,
                       const AlgorithmSelection& selection, bool rank_order) {
  const std::string note = selection.restricts(collective) ? ", among those allowed" : "";
  if (is_predicted(collective, around) && !rank_order) {
    std::vector<Composition> all = compositions(collective, around, selection);
    std::erase_if(all, [&](const auto& each) { return !selection.allows(collective, each); });
    const auto unfit = std::stable_partition(all.begin(), all.end(), [&](const auto& each) {
      return suits(each.across->name, size, around.ranks);
    });
    if (unfit != all.begin()) all.erase(unfit, all.end());
    return {fastest(all, size, around), "least predicted time" + note};
  }
  const std::span<const Rule> table = rank_order ? std::span<const Rule>(rank_order_rules) : rules;
  if (const Rule* rule = find_rule(table, collective, size, around, selection)) {
    return {{.across = find_algorithm(collective, rule->algorithm)}, std::string(rule->why) + note};
  }
  for (const Composition& each : compositions(collective, around, selection))
    if (selection.allows(collective, each) && (each.rank_order() || !rank_order))
      return {each, selection.restricts(collective) ? "forced" : "the only one"};
  return {};
}

/// The names of a collective's algorithms that combine in the order of ranks, and the direct
/// path's.
std::string ordered_names(Collective collective) {
  std::string names;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && row.rank_order) names += std::string(row.name) + ", ";
  }
  return names + std::string(direct_name);
}

/// Why a schedule that the selection names is not for these ranks; empty: there is none.
std::string unfit_written(Collective collective, const Topology& around,
                          const AlgorithmSelection& selection) {
  if (!selection.restricts(collective) || selection.excludes(collective)) return {};
  for (const Script& script : selection.written())
    if (script.collective() == collective && selection.allows(collective, script.algorithm()))
      return script.unfit(around);
  return {};
}

[[noreturn]] void throw_none_left(Collective collective, bool direct_allowed,
                                  const std::string& rank_order, const std::string& unfit) {
  const std::string name_of = std::string(name(collective));
  if (!unfit.empty())
    throw Error(ErrorCode::configuration,
                "the algorithm selection leaves none for this " + name_of + ": " + unfit,
                {.remedy = "allow another algorithm too; `rondo list` shows them"});
  if (direct_allowed)
    throw Error(
        ErrorCode::configuration,
        "the direct path of " + name_of + " needs all ranks on one machine, over shm or local",
        {.remedy = "allow another algorithm too; `rondo list` shows them"});
  if (rank_order.empty())
    throw Error(ErrorCode::configuration, "the algorithm selection leaves none for " + name_of,
                {.remedy = "allow at least one algorithm of it; `rondo list` shows them"});
  throw Error(
      ErrorCode::configuration,
      "the algorithm selection leaves none for this " + name_of + ", which is " + rank_order,
      {.remedy = "allow one of " + ordered_names(collective) +
                 ", or make a call whose contributions need no order"});
}

}  // namespace

Scripts parse_scripts(const std::vector<ScheduleText>& texts) {
  Scripts all;
  for (const ScheduleText& text : texts) {
    const Script script = parse_script(text.text, text.source);
    const auto refuse = [&](const std::string& why, const std::string& remedy) {
      throw Error(ErrorCode::configuration, text.source + " " + why, {.remedy = remedy});
    };
    const std::string& own = script.algorithm();
    if (own.empty()) refuse("does not name its algorithm", "write the line 'algorithm NAME'");
    if (own.find_first_of(",;:^() ") != std::string::npos)
      refuse("names its algorithm \"" + own + "\"", "use letters, digits and underscores");
    if (std::ranges::count(all_names(), own) != 0)
      refuse("has the name of a built-in algorithm, " + own, "give it another name");
    if (!script.for_any_root())
      refuse("is for one root only", "write the line 'root any', and formulas of root");
    all.push_back(script);
  }
  return all;
}

AlgorithmSelection::AlgorithmSelection(std::string_view text, std::string_view what,
                                       Scripts written)
    : written_(std::move(written)) {
  for (const std::string& piece : split(text, ';')) {
    const std::string_view part = piece;
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      check_known(part, what, written_);
      const std::vector<std::string> names = names_in(part);
      for (const CollectiveInfo& row : collectives) {
        const auto known = known_names(row.collective, names, written_);
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
    const std::string_view choice = part.substr(colon + 1);
    const std::vector<std::string> names = names_in(choice);
    by_collective_[static_cast<std::size_t>(*collective)] =
        Selection(choice, known_names(*collective, names, written_), what);
  }
}

bool CallSize::is_lopsided(int ranks) const {
  const auto others = static_cast<std::size_t>(ranks) - 1;
  return bytes > least_lopsided && largest_block > 2 * bytes / std::max<std::size_t>(others, 1);
}

bool AlgorithmSelection::allows(Collective collective, std::string_view name) const {
  return by_collective_[static_cast<std::size_t>(collective)].allows(name);
}

bool AlgorithmSelection::allows(Collective collective, const Composition& composition) const {
  const bool named = allows(collective, composition.name());
  if (composition.inside.empty()) return named;
  const bool all_named = allows(collective, hierarchical_name);
  return excludes(collective) ? named && all_named : named || all_named;
}

bool AlgorithmSelection::restricts(Collective collective) const {
  return by_collective_[static_cast<std::size_t>(collective)].restricts();
}

bool AlgorithmSelection::excludes(Collective collective) const {
  return by_collective_[static_cast<std::size_t>(collective)].excludes();
}

bool is_predicted(Collective collective, const Topology& around) {
  if (collective == Collective::gather || collective == Collective::scatter) return false;
  if (around.links != LinkClass::network || around.one_machine) return false;
  const Hosts hosts(around);
  return hosts.have_two_levels() || hosts.count() > most_measured_hosts;
}

std::vector<std::string_view> algorithm_names(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  if (!hierarchical_compositions(collective).empty()) names.push_back(hierarchical_name);
  if (collective != Collective::send_recv) names.push_back(direct_name);
  return names;
}

Composition find_written(Collective collective, const CallSize& size, const Topology& around,
                         const AlgorithmSelection& selection) {
  const bool named = selection.restricts(collective) && !selection.excludes(collective);
  for (const Script& script : selection.written()) {
    if (script.collective() == collective && selection.allows(collective, script.algorithm()) &&
        (named || script.for_bytes(size.bytes)) && script.unfit(around).empty())
      return {.written = script};
  }
  return {};
}

namespace {

/// Where the ranks share memory it is merged, if it can be, and reached as rondo's own.
Choice choose_written(const Composition& written, const CallSize& size, const Topology& around,
                      const AlgorithmSelection& selection) {
  Choice choice{written, "written in " + written.written.source()};
  const Collective collective = written.collective();
  const bool apart = selection.excludes(collective) && !selection.allows(collective, direct_name);
  const SharedRule* const rule = apart ? nullptr : find_shared_rule(collective, size, around);
  if (rule != nullptr) choice.shared = rule->choice;
  return choice;
}

}  // namespace

Choice choose(Collective collective, const CallSize& size, const Topology& around,
              const AlgorithmSelection& selection, const std::string& rank_order) {
  const bool ordered = !rank_order.empty();
  const Composition written =
      ordered ? Composition() : find_written(collective, size, around, selection);
  if (written) return choose_written(written, size, around, selection);
  Choice choice = choose_messages(collective, size, around, selection, ordered);
  const bool direct_allowed = selection.allows(collective, direct_name);
  const bool forced = direct_allowed && !choice.algorithm;
  // One rank reaches the memory of all there are.
  if (forced && (around.direct || around.ranks == 1))
    choice = choose_messages(collective, size, around, {}, ordered);
  if (!choice.algorithm)
    throw_none_left(collective, direct_allowed, rank_order,
                    ordered ? "" : unfit_written(collective, around, selection));
  // On the direct path, too, a block is reduced by the one rank it is for.
  const bool unfit =
      !forced && collective == Collective::reduce_scatter && size.is_lopsided(around.ranks);
  if (const SharedRule* rule =
          direct_allowed && !unfit ? find_shared_rule(collective, size, around) : nullptr) {
    choice.shared = rule->choice;
    choice.reason = std::string(rule->why) + (forced ? ", forced" : "");
  }
  if (ordered) choice.reason += "; " + rank_order;
  return choice;
}

}  // namespace rondo
