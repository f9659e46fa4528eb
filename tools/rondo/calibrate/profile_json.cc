// Profiles as files.
#include <cstdio>
#include <fstream>

#include "rondo/error.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/json_fields.h"

namespace rondo::tool {
namespace {

constexpr const char* what = "rondo calibration profile";
constexpr int schema = 3;

Json to_json(const bench::Spread& spread) {
  return {{"low", spread.low}, {"median", spread.median}, {"high", spread.high}};
}

bench::Spread spread_from_json(const Json& json) {
  return {number(json, "low"), number(json, "median"), number(json, "high")};
}

Json to_json(const Curve& curve) {
  Json knots = Json::array();
  for (const Knot& knot : curve)
    knots.push_back({{"bytes", knot.bytes}, {"seconds", to_json(knot.seconds)}});
  return knots;
}

Curve curve_from_json(const Json& json, const char* name) {
  Curve curve;
  for (const Json& knot : list(json, name)) {
    const double bytes = number(knot, "bytes");
    if (bytes <= (curve.empty() ? 0 : curve.back().bytes))
      throw JsonDefect(std::string("the sizes of \"") + name + "\" do not grow");
    curve.push_back({bytes, spread_from_json(field(knot, "seconds"))});
  }
  return curve;
}

/// Constants that follow from the samples: for people, and not read again.
Json pieces(const LinkProfile& link) {
  Json all = Json::array();
  for (const Knot& knot : link.exchange)
    all.push_back({{"bytes", knot.bytes},
                   {"beta_one_way", seconds_a_byte(link.one_way, knot.bytes, link.alpha.median)},
                   {"beta_exchange", seconds_a_byte(link.exchange, knot.bytes,
                                                    2 * (link.ranks - 1) * link.alpha.median)},
                   {"copy", link.copy(knot.bytes)},
                   {"combined", link.combined(knot.bytes)}});
  return all;
}

std::string placement(const LinkProfile& link) {
  if (link.hosts > 1) return "a host for each rank";
  return link.oversubscribed() ? "ranks share cores" : "a core for each rank";
}

Profile from_json(const Json& json) {
  demand_document(json, what, "calibration profile", schema);
  const Json& machine = field(json, "machine");
  Profile profile{
      .machine = {text(machine, "cpu"), whole(machine, "cores"), text(machine, "kernel")},
      .date = text(json, "date"),
      .version = text(json, "rondo_version")};
  for (const Json& link : list(json, "links")) {
    profile.links.push_back(link_from_json(link));
    if (profile.apart() != (profile.links.back().hosts > 1))
      throw JsonDefect("\"links\" mixes one host and several hosts");
  }
  for (const Json& gamma : list(json, "gamma")) profile.gammas.push_back(gamma_from_json(gamma));
  return profile;
}

}  // namespace

Json to_json(const LinkProfile& link) {
  return {{"transport", link.transport},
          {"ranks", link.ranks},
          {"cores", link.cores},
          {"hosts", link.hosts},
          {"placement", placement(link)},
          {"alpha", to_json(link.alpha)},
          {"one_way", to_json(link.one_way)},
          {"exchange", to_json(link.exchange)},
          {"combining", to_json(link.combining)},
          {"seconds_a_byte", pieces(link)},
          {"meeting", to_json(link.meeting)},
          {"fetch", to_json(link.fetch)},
          {"fetch_combining", to_json(link.fetch_combining)}};
}

LinkProfile link_from_json(const Json& json) {
  LinkProfile link{.transport = text(json, "transport"),
                   .ranks = whole(json, "ranks"),
                   .cores = whole(json, "cores"),
                   .hosts = whole(json, "hosts"),
                   .alpha = spread_from_json(field(json, "alpha")),
                   .one_way = curve_from_json(json, "one_way"),
                   .exchange = curve_from_json(json, "exchange"),
                   .combining = curve_from_json(json, "combining"),
                   .meeting = spread_from_json(field(json, "meeting")),
                   .fetch = curve_from_json(json, "fetch"),
                   .fetch_combining = curve_from_json(json, "fetch_combining")};
  if (link.exchange.empty()) throw JsonDefect("\"exchange\" has no samples");
  if (link.ranks < 2) throw JsonDefect("\"ranks\" of a link are not 2 or more");
  if (link.hosts > 1 && link.hosts != link.ranks)
    throw JsonDefect("\"hosts\" are neither 1 nor \"ranks\"");
  if (link.cores > link.ranks) throw JsonDefect("\"cores\" are more than \"ranks\"");
  return link;
}

Json to_json(const GammaProfile& gamma) {
  Json sizes = Json::array();
  for (const Knot& knot : gamma.reduces)
    sizes.push_back({{"bytes", knot.bytes}, {"gamma", gamma.gamma(knot.bytes)}});
  return {{"type", name(gamma.type)},
          {"op", name(gamma.op)},
          {"copies", to_json(gamma.copies)},
          {"reduces", to_json(gamma.reduces)},
          {"seconds_a_byte", sizes}};
}

GammaProfile gamma_from_json(const Json& json) {
  const auto type = parse_data_type(text(json, "type"));
  const auto op = parse_reduce_operator(text(json, "op"));
  if (!type) throw JsonDefect("unknown type '" + text(json, "type") + "'");
  if (!op) throw JsonDefect("unknown operator '" + text(json, "op") + "'");
  return {*type, *op, curve_from_json(json, "copies"), curve_from_json(json, "reduces")};
}

Json to_json(const Profile& profile) {
  Json json{{"what", what},
            {"schema", schema},
            {"date", profile.date},
            {"rondo_version", profile.version},
            {"machine",
             {{"cpu", profile.machine.cpu},
              {"cores", profile.machine.cores},
              {"kernel", profile.machine.kernel}}},
            {"links", Json::array()},
            {"gamma", Json::array()}};
  for (const LinkProfile& link : profile.links) json["links"].push_back(to_json(link));
  for (const GammaProfile& gamma : profile.gammas) json["gamma"].push_back(to_json(gamma));
  return json;
}

Profile read_profile(const std::string& path) {
  return read_json(path, "profile", "`rondo calibrate --output " + path + "` makes one", from_json);
}

Profile read_profile_here(const std::string& path) {
  Profile profile = read_profile(path);
  const std::string words = foreign_words(profile);
  if (!words.empty()) std::fprintf(stderr, "rondo: %s\n", words.c_str());
  return profile;
}

void write_profile(const Profile& profile, const std::string& path) {
  std::ofstream file(path);
  file << to_json(profile).dump(1) << '\n';
  file.close();
  if (!file)
    throw Error(ErrorCode::system, "cannot write the profile '" + path + "'",
                {.remedy = "another --output, in a folder that exists and that you may write to"});
}

std::string foreign_words(const Profile& profile) {
  const Machine here = this_machine();
  if (profile.machine.cpu == here.cpu && profile.machine.cores == here.cores) return {};
  const auto words = [](const Machine& machine) {
    return machine.cpu + " with " + std::to_string(machine.cores) + " cores";
  };
  return "the profile was made on another machine (" + words(profile.machine) +
         "; this one: " + words(here) + ")";
}

}  // namespace rondo::tool
