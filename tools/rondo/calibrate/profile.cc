#include "tools/rondo/calibrate/profile.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bench/floor/team.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

double a_byte(const Knot& knot, double alpha) {
  return std::max(0.0, knot.seconds.median - alpha) / knot.bytes;
}

std::string known_links(const Profile& profile) {
  std::string words;
  for (const LinkProfile& link : profile.links)
    words += (words.empty() ? "" : ", ") + link.transport + " of " + std::to_string(link.ranks) +
             " ranks" + (link.hosts > 1 ? " on as many hosts" : "");
  return words;
}

/// The entry with this operator, or else with another one; nullptr where the type is missing.
const GammaProfile* find_reduction(const Profile& profile, DataType type, ReduceOperator op) {
  const GammaProfile* found = nullptr;
  for (const GammaProfile& one : profile.gammas) {
    if (one.type != type) continue;
    if (found == nullptr || one.op == op) found = &one;
  }
  return found;
}

}  // namespace

double seconds_a_byte(const Curve& curve, double bytes, double alpha) {
  if (curve.empty()) return 0;
  const auto above = std::find_if(curve.begin(), curve.end(),
                                  [&](const Knot& knot) { return knot.bytes >= bytes; });
  if (above == curve.end()) return a_byte(curve.back(), alpha);
  if (above == curve.begin() || above->bytes <= bytes) return a_byte(*above, alpha);
  const Knot& below = *(above - 1);
  const double along = std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return a_byte(below, alpha) * (1 - along) + a_byte(*above, alpha) * along;
}

// Forwarding data that was just received reads once and writes twice. Reading from the own cache is
// the smaller part of a copy into memory that a peer reads. Three quarters of a copy fitted rings
// and trees alike, compared round by round. Over sockets the kernel reads the data again.
double LinkProfile::forwarding() const { return transport == "shm" ? 0.75 : 1; }

// Each rank sends its own block, then what it received, and receives all other blocks.
double LinkProfile::copies_a_pass() const {
  return (1 + forwarding() * (ranks - 2) + (ranks - 1)) / ranks;
}

std::string LinkProfile::where() const {
  const std::string all = std::to_string(ranks) + " ranks";
  if (hosts > 1) return all + ", a host for each";
  return all + " on " + std::to_string(cores) + " cores" + (oversubscribed() ? " (shared)" : "");
}

Costs LinkProfile::costs(double bytes) const {
  if (hosts > 1)
    return {.alpha = alpha.median,
            .beta = beta(bytes),
            .gamma = combined(bytes),
            .ports = Ports::switched};
  return {.alpha = alpha.median,
          .gamma = combined(bytes),
          .ports = Ports::unlimited,
          .copy = copy(bytes),
          .forward = forward(bytes),
          .overlap = overlap(bytes),
          .processors = cores};
}

double LinkProfile::beta(double bytes) const {
  const double sent = 2.0 * (ranks - 1) / ranks;  // in units of bytes
  return seconds_a_byte(exchange, bytes, 2 * (ranks - 1) * alpha.median) / sent;
}

// Where ranks share cores, an exchange takes the time of all ranks of a core together.
double LinkProfile::copy(double bytes) const {
  const double alphas = 2 * (ranks - 1) * alpha.median;
  return seconds_a_byte(exchange, bytes, alphas) / (2 * copies_a_pass()) * cores / ranks;
}

double LinkProfile::combined(double bytes) const {
  const double added = 2.0 * (ranks - 1) / ranks;  // in units of bytes
  const double more = seconds_a_byte(combining, bytes, 0) - seconds_a_byte(exchange, bytes, 0);
  return std::max(0.0, more) / added * cores / ranks;
}

double LinkProfile::forward(double bytes) const { return forwarding() * copy(bytes); }

// A lone message takes both copies one after the other, less the part that happens at once.
double LinkProfile::overlap(double bytes) const {
  const double one = copy(bytes);
  if (one <= 0 || one_way.empty()) return 0;
  const double both = seconds_a_byte(one_way, bytes, alpha.median);
  return std::clamp(2 - both / one, 0.0, 1.0);
}

double LinkProfile::fetched(double bytes) const {
  const double others = static_cast<double>(ranks - 1) / ranks;
  return seconds_a_byte(fetch, bytes, meeting.median) / others * cores / ranks;
}

double LinkProfile::fetched_combined(double bytes) const {
  const double others = static_cast<double>(ranks - 1) / ranks;
  const double more = seconds_a_byte(fetch_combining, bytes, 0) - seconds_a_byte(fetch, bytes, 0);
  return std::max(0.0, more) / others * cores / ranks;
}

double GammaProfile::gamma(double bytes) const {
  return std::max(0.0, seconds_a_byte(reduces, bytes, 0) - seconds_a_byte(copies, bytes, 0));
}

Machine this_machine() {
  utsname system{};
  ::uname(&system);
  return {bench::cpu_model(), bench::allowed_cores(), system.release};
}

MeasuredCosts Profile::costs_of_links() const {
  constexpr double bytes = 1 << 20;
  const auto link =
      apart() ? links.begin() : std::ranges::find(links, "shm", &LinkProfile::transport);
  if (link == links.end()) return {};
  const double alpha = link->alpha.median;
  const double beta = link->beta(bytes);
  if (apart()) return {.network_alpha = alpha, .network_beta = beta};
  return {.memory_alpha = alpha, .memory_beta = beta, .gamma = link->combined(bytes)};
}

const LinkProfile& Profile::link(const std::string& transport, int ranks) const {
  if (transport.empty() && !links.empty()) return link(links.front().transport, ranks);
  const LinkProfile* best = nullptr;
  const auto distance = [&](const LinkProfile& one) {
    const bool oversubscribed = !apart() && ranks > machine.cores;
    return std::tuple(one.oversubscribed() != oversubscribed, std::abs(one.ranks - ranks));
  };
  for (const LinkProfile& one : links) {
    if (one.transport != transport) continue;
    if (best == nullptr || distance(one) < distance(*best)) best = &one;
  }
  if (best != nullptr) return *best;
  reject("the profile has nothing about '" + transport + "'",
         "it has " + known_links(*this) + "; `rondo calibrate --transport " + transport +
             "` measures it");
}

const GammaProfile& Profile::reduction(DataType type, ReduceOperator op) const {
  if (const GammaProfile* const found = find_reduction(*this, type, op)) return *found;
  reject("the profile has no reductions of " + std::string(name(type)),
         "`rondo calibrate --types " + std::string(name(type)) + "` measures them");
}

Costs Profile::costs(const LinkProfile& link, double bytes, DataType type,
                     ReduceOperator op) const {
  const GammaProfile* const base = find_reduction(*this, DataType::float32, ReduceOperator::sum);
  const double gamma = reduction(type, op).gamma(bytes);
  const double dearer = base != nullptr ? gamma - base->gamma(bytes) : gamma;
  Costs costs = link.costs(bytes);
  costs.gamma = std::max(0.0, costs.gamma + dearer);
  if (costs.processors > 0) costs.processors = machine.cores;
  return costs;
}

}  // namespace rondo::tool
