#include "tools/trainer/report/link.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/trainer/refuse.h"

namespace rondo::train {
namespace {

using nlohmann::json;

constexpr int profile_schema = 3;  ///< as tools/rondo/calibrate/profile_json.cc writes it

/// The element of a list with the least `distance`.
template <class Distance>
const json& nearest(const json& list, Distance distance) {
  const auto before = [&](const json& a, const json& b) { return distance(a) < distance(b); };
  return list.at(static_cast<std::size_t>(std::min_element(list.begin(), list.end(), before) -
                                          list.begin()));  // which throws where there is none
}

/// Seconds and bytes that a rank sends, of the sample whose size is nearest. An exchange is two
/// all-gathers round a ring. It moves as much as an all-reduce.
struct Sample {
  Sample(const json& curve, double bytes, int ranks) {
    const json& knot = nearest(curve, [&](const json& one) {
      return std::abs(std::log(one.at("bytes").get<double>() / bytes));
    });
    seconds = knot.at("seconds").at("median").get<double>();
    sent = 2.0 * (ranks - 1) / ranks * knot.at("bytes").get<double>();
  }
  double seconds, sent;
};

Link link_from(const json& profile, const Route& route, double bytes) {
  json entries = json::array();
  for (const json& link : profile.at("links")) {
    if (link.at("transport").get<std::string>() == route.transport &&
        (link.at("hosts").get<int>() > 1) == route.apart)
      entries.push_back(link);
  }
  if (entries.empty()) return {};
  const json& entry = nearest(entries, [&](const json& link) {
    return std::abs(link.at("ranks").get<int>() - route.ranks);
  });
  const int ranks = entry.at("ranks").get<int>();
  const Sample exchange(entry.at("exchange"), bytes, ranks);
  // Two reduce_scatters are an exchange that also adds up the bytes that arrive.
  const Sample combining(entry.at("combining"), bytes, ranks);
  const double alpha = entry.at("alpha").at("median").get<double>();
  const json& machine = profile.at("machine");
  return {
      .rate = exchange.sent / exchange.seconds,
      .alpha = alpha,
      .beta = std::max(0.0, exchange.seconds - 2 * (ranks - 1) * alpha) / exchange.sent,
      .gamma = std::max(0.0, combining.seconds / combining.sent - exchange.seconds / exchange.sent),
      .words = route.transport + " between " + std::to_string(ranks) +
               (route.apart ? " hosts; " : " ranks; ") + machine.at("cpu").get<std::string>() +
               ", " + std::to_string(machine.at("cores").get<int>()) + " cores, " +
               profile.at("date").get<std::string>()};
}

}  // namespace

Link read_link(const std::string& path, const Route& route, double bytes) {
  const std::string make = "`rondo calibrate --output " + path + "` ";
  const auto fail = [&](const std::string& why) {
    refuse("--profile " + path + ": " + why, make + "makes one in half a minute");
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("it is a folder");
  std::ifstream file(path);
  const json profile = json::parse(file, nullptr, false);
  if (!file || profile.is_discarded()) fail("there is no such file, or it is not JSON");
  Link link;
  try {
    // A profile with another schema is of another version; its samples may mean something else.
    if (const int found = profile.at("schema").get<int>(); found != profile_schema) {
      fail("its schema is " + std::to_string(found) + ", this rondo-train reads " +
           std::to_string(profile_schema) + ": another version made it");
    }
    link = link_from(profile, route, bytes);
  } catch (const json::exception&) {
    fail("it is no profile of `rondo calibrate`");
  }
  if (link.words.empty()) {
    refuse("--profile " + path + ": it has nothing about the transport '" + route.transport +
               "' between ranks on " + (route.apart ? "several hosts" : "one host"),
           make + (route.apart ? "under a launcher, one rank on each host, makes one"
                               : "without a launcher makes one in half a minute"));
  }
  if (!(link.rate > 0) || !std::isfinite(link.rate)) fail("its samples are no times");
  return link;
}

}  // namespace rondo::train
