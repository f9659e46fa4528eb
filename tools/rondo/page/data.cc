#include "tools/rondo/page/data.h"

#include <nlohmann/json.hpp>

#include "core/schedule/formula.h"
#include "core/schedule/simulate.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/explain/hosts.h"
#include "tools/rondo/format.h"
#include "tools/rondo/page/digest.h"
#include "tools/rondo/page/encode.h"
#include "tools/rondo/page/host_places.h"
#include "tools/rondo/page/network.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

/// Cells (chunks of all ranks) that a page can draw: twice what the largest algorithm needs.
constexpr int most_cells = 16384;

void check_size(const Schedule& schedule) {
  if (schedule.ranks > most_page_ranks)
    reject(
        std::to_string(schedule.ranks) + " ranks do not fit on a page",
        "at most " + std::to_string(most_page_ranks) + " ranks; without --html, tables show more");
  if (schedule.layout.chunks() > most_cells / schedule.ranks)
    reject(std::to_string(schedule.layout.chunks()) + " chunks on " +
               std::to_string(schedule.ranks) + " ranks do not fit on a page",
           "at most " + std::to_string(most_cells) + " chunks on all ranks together");
}

/// By host: its name, its ranks, and where each of them stands.
Json hosts_data(const std::vector<ShownHost>& hosts) {
  const std::vector<Point> places = host_places(hosts);
  Json all = Json::array();
  for (const ShownHost& host : hosts) {
    Json at = Json::array();
    for (const int rank : host.ranks) {
      const Point& place = places[static_cast<std::size_t>(rank)];
      at.push_back({place.x, place.y});
    }
    all.push_back({{"name", host.name}, {"ranks", host.ranks}, {"places", std::move(at)}});
  }
  return all;
}

/// What no algorithm can beat, as a formula and as its value.
Json bound(const Schedule& schedule) {
  const CostFormulas least = lower_bound(schedule.collective);
  const auto both = [&](std::string_view formula) {
    return Json{{"formula", formula}, {"value", evaluate(formula, cost_variables(schedule.ranks))}};
  };
  return {{"rounds", both(least.rounds)}, {"sent", both(least.sent)}};
}

Json counted(const CostCounts& counts) {
  return {{"rounds", counts.rounds}, {"hops", counts.hops},         {"messages", counts.messages},
          {"sent", counts.sent},     {"received", counts.received}, {"reduced", counts.reduced}};
}

/// [phase, round, messages, fingerprint] of every round.
Json rounds(const Explanation& explanation) {
  Json all = Json::array();
  for (const ExplainedRound& round : explanation.rounds)
    all.push_back(
        {round.phase, round.round, round.message_count, fingerprint(messages_text(round))});
  return all;
}

void add_row(Json& data, const Schedule& schedule) {
  const Algorithm* row = find_algorithm(schedule.collective, schedule.algorithm);
  if (row == nullptr) return;
  data["summary"] = row->summary;
  data["cost"] = {{"rounds", row->cost.rounds}, {"sent", row->cost.sent}};
}

Json schedule_data(const Schedule& schedule, bool from_table, const PageContent& content) {
  check_size(schedule);
  const Explanation explanation = explain(schedule);
  Json data{{"collective", name(schedule.collective)},
            {"algorithm", schedule.algorithm},
            {"ranks", schedule.ranks},
            {"root", schedule.root},
            {"lanes", schedule.lanes},
            {"depth", schedule.depth},
            {"parts", schedule.layout.parts},
            {"phases", schedule.phases}};
  if (from_table) add_row(data, schedule);
  data["bound"] = bound(schedule);
  data["findings"] = explanation.findings;
  data["rounds"] = rounds(explanation);
  data["outputs"] = fingerprint(outputs_text(explanation));
  if (explanation.findings.empty()) {
    data["counts"] = counted(explanation.counts);
    const double bytes = schedule.collective == Collective::barrier ? 0 : content.bytes;
    const Costs costs{.alpha = content.alpha, .beta = content.beta, .gamma = content.gamma};
    data["seconds"] =
        (shown_hosts(content.topology).empty() ? simulate(schedule, bytes, costs)
                                               : simulate(schedule, bytes, costs, content.topology))
            .busiest()
            .seconds;
  }
  data["steps"] = encode_steps(schedule);
  return data;
}

}  // namespace

nlohmann::ordered_json page_data(const PageContent& content) {
  Json data{{"title", content.title}, {"command", content.command}, {"compared", content.compared},
            {"bytes", content.bytes}, {"alpha", content.alpha},     {"beta", content.beta},
            {"gamma", content.gamma}};
  if (const std::vector<ShownHost> hosts = shown_hosts(content.topology); !hosts.empty()) {
    data["hosts"] = hosts_data(hosts);
    data["network"] = network_data(content.topology);
  }
  Json worlds = Json::array();
  for (const std::vector<Schedule>& world : content.worlds) {
    worlds.push_back(Json::array());
    for (const Schedule& schedule : world)
      worlds.back().push_back(schedule_data(schedule, true, content));
  }
  data["worlds"] = std::move(worlds);
  Json schedules = Json::array();
  for (const Schedule& schedule : content.schedules) {
    const bool from_table = !schedules.empty() || !content.own_text;
    Json one = schedule_data(schedule, from_table, content);
    if (schedules.empty() && !content.real.empty()) one["real"] = Json::parse(content.real);
    schedules.push_back(std::move(one));
  }
  data["schedules"] = std::move(schedules);
  return data;
}

std::string script_safe(const nlohmann::ordered_json& data) {
  const std::string json = data.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  for (const char each : json) {
    if (each == '<')
      safe += "\\u003c";
    else if (each == '>')
      safe += "\\u003e";
    else if (each == '&')
      safe += "\\u0026";
    else
      safe += each;
  }
  return safe;
}

}  // namespace rondo::tool
