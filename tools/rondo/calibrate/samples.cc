#include "tools/rondo/calibrate/samples.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

bench::Spread scaled(const bench::Spread& spread, double factor) {
  return {spread.low * factor, spread.median * factor, spread.high * factor};
}

/// The samples of one trial: those of one round, or all.
std::vector<double> counted(const Samples& samples, const char* trial,
                            std::optional<std::size_t> round) {
  const auto found = samples.seconds.find(trial);
  if (found == samples.seconds.end()) return {};
  return round ? std::vector<double>{found->second.at(*round)} : found->second;
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void Samples::add(const std::string& trial, const std::vector<double>& rounds) {
  const auto [place, is_new] = seconds.try_emplace(trial, rounds);
  if (is_new) return;
  for (std::size_t round = 0; round < rounds.size(); ++round)
    place->second.at(round) = (place->second[round] + rounds[round]) / 2;
}

Json to_json(const Samples& samples) {
  return {{"bytes", samples.bytes}, {"seconds", samples.seconds}, {"direct", samples.direct}};
}

Samples samples_from_json(const Json& json) {
  return {json.at("bytes"), json.at("seconds"), json.at("direct")};
}

LinkProfile constants_of(const LinkProfile& which, std::span<const Samples> sizes,
                         std::optional<std::size_t> round) {
  LinkProfile link = which;
  std::vector<double> alphas;
  std::vector<double> meetings;
  for (const Samples& samples : sizes) {
    const auto add = [&](Curve& curve, const char* trial, double factor) {
      const std::vector<double> seconds = counted(samples, trial, round);
      if (!seconds.empty())
        curve.push_back({samples.bytes, scaled(bench::spread_of(seconds), factor)});
    };
    append(alphas, counted(samples, trial::smallest, round));
    append(meetings, counted(samples, trial::meeting, round));
    add(link.one_way, trial::to_and_fro, 0.5);
    add(link.exchange, trial::gather, 2);
    add(link.combining, trial::scatter, 2);
    add(link.fetch, trial::fetch, 1);
    add(link.fetch_combining, trial::fetch_combining, 1);
  }
  link.alpha = scaled(bench::spread_of(std::move(alphas)), 0.5);
  link.meeting = bench::spread_of(std::move(meetings));
  return link;
}

}  // namespace rondo::tool
