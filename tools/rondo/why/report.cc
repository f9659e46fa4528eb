#include "tools/rondo/why/report.h"

#include <algorithm>
#include <iterator>

#include "core/plan/decide.h"
#include "core/schedule/collective.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/format.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/topology/options.h"
#include "tools/rondo/why/item.h"

namespace rondo::tool::why {
namespace {

/// Steps of all rows together, whose simulation takes less than a second.
constexpr std::uint64_t most_simulated = 200'000;

std::string transport_text(const Facts& facts) {
  if (facts.transport.empty()) return "none: there is one rank";
  std::string text = facts.transport + ", with messages of up to " +
                     size_text(static_cast<double>(facts.frame_bytes));
  return facts.passed_over.empty() ? text : text + " (" + facts.passed_over + ")";
}

std::string direct_text(const PreparedCall& prepared) {
  const SharedCall& shared = *prepared.shared;
  const std::string algorithm(shared.ordinary.plan->algorithm);
  if (shared.places == Places::copies)
    return "direct: every rank copies its input into a staging buffer that all ranks map, and "
           "reads the others' inputs there (" +
           algorithm + ")";
  return "direct: ranks read and write memory from rondo::allocate() in place; other memory goes "
         "by "
         "messages";
}

std::string no_direct_text(const Facts& facts, const Call& call, const Choice& choice,
                           const AlgorithmSelection& selection) {
  const std::string by = "by messages";
  if (choice.shared)
    return by +
           ": it does not merge into one or two stages (2 ranks: one) of single chunks that need "
           "no "
           "scratch and are right in place";
  const bool own = choice.algorithm.written && !selection.excludes(call.collective);
  if (!own && !selection.allows(call.collective, direct_name)) return by + ": direct is excluded";
  if (!facts.reaches_memory)
    return by + ": over " + facts.transport + " no rank can read another rank's memory";
  if (facts.checksum) return by + ": RONDO_CHECKSUM=1";
  if (!facts.around.direct)
    return by + ": direct is for up to " + std::to_string(most_sharing_ranks) + " ranks";
  return by + ": the table has no direct path for this collective and size";
}

std::string slices_text(const PreparedCall& prepared) {
  const double bytes = static_cast<double>(prepared.slicing.slice * prepared.element_bytes);
  if (prepared.slicing.passes <= 1)
    return "none: the largest chunk has " + size_text(bytes) + ", which fits into one message";
  return std::to_string(prepared.slicing.passes) + " passes, each of up to " + size_text(bytes) +
         " of every chunk, so that receiving, reducing and sending overlap";
}

/// As sliced as executors do it, but no finer than a simulation can take.
int slices(const Schedule& schedule, const Call& call, const Facts& facts) {
  const auto bytes = static_cast<double>(index_space_bytes(call, facts.around.ranks));
  if (!facts.around.one_machine)
    return slices_between_hosts(schedule, bytes, facts.around, facts.frame_bytes);
  return std::min(slices_of(schedule, bytes, static_cast<double>(facts.frame_bytes)), most_slices);
}

std::string predictions(const Call& call, const PreparedCall& prepared, const Facts& facts,
                        const Scripts& written, const Costs& costs) {
  // The choice went by what is known of this machine's links.
  const bool predicted =
      is_predicted(call.collective, facts.around) && rank_order_words(call).empty();
  const bool located = !facts.around.host.empty() || predicted;
  const std::string chosen = prepared.plan->schedule.algorithm;
  const bool is_written =
      std::ranges::count(written, chosen, [](const Script& each) { return each.algorithm(); }) != 0;
  const Topology around = located ? facts.around : with_costs(facts.around, costs);
  std::vector<Composition> rows = compositions_by_name(call.collective, {}, around);
  std::ranges::copy(written_in(written, call.collective, around), std::back_inserter(rows));
  if (const Composition named = find_composition(call.collective, chosen); !named.socket.empty())
    rows.push_back(named);
  const auto bytes = static_cast<double>(index_space_bytes(call, around.ranks));
  if (predicted) {
    constexpr std::uint64_t estimates_only = 0;
    return "\nPredicted, in a loop of calls: " + costs_text(around) + "\n" +
           predictions_text(predict(rows, around, call.root, bytes, estimates_only, {}), true,
                            chosen) +
           "*: the fastest that is allowed, and what messages use here. Up to 2 % count as "
           "equal.\n" +
           (around.socket_beta > 0
                ? "Links between sockets do not count here: see rondo simulate.\n"
                : "");
  }
  const std::vector<Prediction> all =
      predict(rows, around, call.root, bytes, most_simulated / (rows.size() * most_slices),
              [&](const Schedule& schedule) {
                const Partition partition(schedule.layout, call.count, size_of(call.type));
                const auto element = static_cast<double>(size_of(call.type));
                Costs of_row = costs;
                const bool calibrated = costs.works() || costs.ports == Ports::switched;
                // A real machine's clock has slices.
                if (calibrated || located) of_row.slices = slices(schedule, call, facts);
                return located ? simulate(schedule, partition, element, of_row, around)
                               : simulate(schedule, partition, element, of_row);
              });
  return "\nPredicted by messages: " + (located ? costs_text(around) : costs_text(costs)) + "\n" +
         predictions_text(all, true, chosen) +
         (is_written
              ? "*: your own, which serves the calls that it is for.\n"
              : "*: the algorithm that messages use here. It comes from a table of measurements,\n"
                "not from these predictions, whose clock is simpler than a machine. Where the two\n"
                "disagree, alpha, beta and gamma may not be this machine's: see rondo "
                "calibrate.\n");
}

/// Why a schedule that a user wrote does not carry the call, though it was given.
std::string unused_text(const Script& script, const Call& call, std::size_t bytes,
                        const Facts& facts, const AlgorithmSelection& selection) {
  const std::string& source = script.source();
  if (script.collective() != call.collective)
    return source + " is for calls of " + std::string(name(script.collective()));
  if (!selection.allows(call.collective, script.algorithm()))
    return source + " is left out by RONDO_ALGORITHM";
  if (const std::string unfit = script.unfit(facts.around); !unfit.empty()) return unfit;
  if (const std::string order = rank_order_words(call); !order.empty())
    return source + ": the call is " + order;
  if (!script.for_bytes(bytes)) return source + " is for calls of other sizes";
  return source + ": a file before it serves the call";
}

/// A single rank sends nothing, so the table's algorithm for it means nothing.
std::string report_alone(const Call& call, const Facts& facts) {
  return std::string(name(call.collective)) +
         (is_token(call.collective)
              ? std::string()
              : " of " + std::to_string(call.count) + " x " + std::string(name(call.type))) +
         " on one rank\n\n" + item("transport", transport_text(facts)) +
         item("path", is_token(call.collective) ? "none: there is no other rank to wait for"
                                                : "none: the call copies input to output") +
         item("why", "there is no other rank; --ranks sets their number");
}

}  // namespace

std::string report(const Call& call, const Facts& facts, const AlgorithmSelection& selection,
                   const Costs& costs) {
  if (facts.around.ranks == 1) return report_alone(call, facts);
  const std::size_t bytes = index_space_bytes(call, facts.around.ranks);
  const Choice choice =
      choose(call.collective, bytes, facts.around, selection, rank_order_words(call));
  const auto plan = make_plan(choice.algorithm, call.root, 0, facts.around);
  const auto prepared = decide(choice, plan, call, 0, facts.around, facts.frame_bytes);
  const Schedule& schedule = plan->schedule;
  std::string text = wrapped("", words_of(sentence(*prepared, facts.transport)), 2, width);
  text += "\n" + item("transport", transport_text(facts));
  text += item("path", prepared->shared ? direct_text(*prepared)
                                        : no_direct_text(facts, call, choice, selection));
  text += item("why", choice.reason);
  for (const Script& script : selection.written())
    if (script != choice.algorithm.written)
      text += item("not used", unused_text(script, call, bytes, facts, selection));
  text += item("messages", schedule.algorithm + ", " + counted(schedule.lanes, "lane") + ", " +
                               counted(schedule.layout.chunks(), "chunk") +
                               (prepared->shared ? ": when the call goes by messages" : ""));
  if (!is_token(call.collective)) text += item("slices", slices_text(*prepared));
  return text + predictions(call, *prepared, facts, selection.written(), costs);
}

}  // namespace rondo::tool::why
