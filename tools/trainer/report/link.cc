#include "tools/trainer/report/link.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rondo/error.h"

namespace rondo::train {
namespace {

using Json = nlohmann::json;

constexpr int schema = 3;  ///< as tools/rondo/calibrate/profile_json.cc writes it

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "--profile " + path + ": " + why,
              {.remedy = "`rondo calibrate --output " + path + "` makes one in half a minute"});
}

/// An exchange is two all-gathers round a ring. It moves as much as an all-reduce of "bytes".
double bytes_a_rank(double bytes, int ranks) { return 2.0 * (ranks - 1) / ranks * bytes; }

bool is_apart(const Json& link) { return link.at("hosts").get<int>() > 1; }

const Json* nearest_entry(const Json& profile, const Route& route) {
  const Json* best = nullptr;
  const auto distance = [&](const Json& link) {
    return std::abs(link.at("ranks").get<int>() - route.ranks);
  };
  for (const Json& link : profile.at("links")) {
    if (link.at("transport").get<std::string>() != route.transport) continue;
    if (is_apart(link) != route.apart) continue;
    if (best == nullptr || distance(link) < distance(*best)) best = &link;
  }
  return best;
}

double median(const Json& knot) { return knot.at("seconds").at("median").get<double>(); }

/// The sample of a curve whose size is nearest to `bytes`.
const Json& nearest_knot(const Json& curve, double bytes) {
  const auto distance = [&](const Json& knot) {
    return std::abs(std::log(knot.at("bytes").get<double>() / bytes));
  };
  const Json* best = nullptr;
  for (const Json& knot : curve) {
    if (best == nullptr || distance(knot) < distance(*best)) best = &knot;
  }
  return best != nullptr ? *best : curve.at(0);  // which throws
}

Link link_of(const Json& entry, double bytes) {
  const int ranks = entry.at("ranks").get<int>();
  const Json& exchange = nearest_knot(entry.at("exchange"), bytes);
  // Two reduce_scatters are an exchange that also adds up the bytes that arrive.
  const Json& combining = nearest_knot(entry.at("combining"), bytes);
  const double sent = bytes_a_rank(exchange.at("bytes").get<double>(), ranks);
  const double added = bytes_a_rank(combining.at("bytes").get<double>(), ranks);
  const double alpha = median({{"seconds", entry.at("alpha")}});
  return {.rate = sent / median(exchange),
          .alpha = alpha,
          .beta = std::max(0.0, median(exchange) - 2 * (ranks - 1) * alpha) / sent,
          .gamma = std::max(0.0, median(combining) / added - median(exchange) / sent),
          .words = entry.at("transport").get<std::string>() + " between " + std::to_string(ranks) +
                   (is_apart(entry) ? " hosts" : " ranks")};
}

[[noreturn]] void refuse_missing(const std::string& path, const Route& route) {
  throw Error(ErrorCode::invalid_argument,
              "--profile " + path + ": it has nothing about the transport '" + route.transport +
                  "' between ranks on " + (route.apart ? "several hosts" : "one host"),
              {.remedy = route.apart ? "`rondo calibrate --output " + path +
                                           "` under a launcher, one rank on each host, makes one"
                                     : "`rondo calibrate --output " + path +
                                           "` without a launcher makes one in half a minute"});
}

/// A profile with another schema is of another version; its samples may mean something else.
void demand_schema(const std::string& path, const Json& profile) {
  const int found = profile.at("schema").get<int>();
  if (found != schema)
    refuse(path, "its schema is " + std::to_string(found) + ", this rondo-train reads " +
                     std::to_string(schema) + ": another version made it");
}

}  // namespace

Link read_link(const std::string& path, const Route& route, double bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::invalid_argument, "--profile " + path + ": it is a folder",
                {.remedy = "the name of the file that `rondo calibrate --output FILE` made"});
  }
  std::ifstream file(path);
  const Json profile = Json::parse(file, nullptr, false);
  if (!file || profile.is_discarded()) refuse(path, "there is no such file, or it is not JSON");
  try {
    demand_schema(path, profile);
    const Json* const entry = nearest_entry(profile, route);
    if (entry == nullptr) refuse_missing(path, route);
    Link link = link_of(*entry, bytes);
    const Json& machine = profile.at("machine");
    link.words += "; " + machine.at("cpu").get<std::string>() + ", " +
                  std::to_string(machine.at("cores").get<int>()) + " cores, " +
                  profile.at("date").get<std::string>();
    if (link.rate > 0 && std::isfinite(link.rate)) return link;
  } catch (const Json::exception&) {
    refuse(path, "it is no profile of `rondo calibrate`");
  }
  refuse(path, "its samples are no times");
}

}  // namespace rondo::train
