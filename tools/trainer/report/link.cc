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

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "--profile " + path + ": " + why,
              {.remedy = "`rondo calibrate --output " + path + "` makes one in half a minute"});
}

/// An exchange is two all-gathers round a ring: what an all-reduce of "bytes" moves.
double bytes_a_rank(double bytes, int ranks) { return 2.0 * (ranks - 1) / ranks * bytes; }

const Json* nearest_entry(const Json& profile, const std::string& transport, int ranks) {
  const Json* best = nullptr;
  const auto distance = [&](const Json& link) {
    return std::abs(link.at("ranks").get<int>() - ranks);
  };
  for (const Json& link : profile.at("links")) {
    if (link.at("transport").get<std::string>() != transport) continue;
    if (best == nullptr || distance(link) < distance(*best)) best = &link;
  }
  return best;
}

double median(const Json& knot) { return knot.at("seconds").at("median").get<double>(); }

/// Median seconds a byte of the sample nearest to `bytes`.
double seconds_a_byte(const Json& curve, double bytes) {
  double nearest = 0;
  double seconds = 0;
  for (const Json& knot : curve) {
    const double size = knot.at("bytes").get<double>();
    const double apart = std::abs(std::log(size / bytes));
    if (seconds > 0 && apart >= nearest) continue;
    nearest = apart;
    seconds = median(knot) / size;
  }
  return seconds;
}

/// Two reduce_scatters are an exchange whose bytes are added up as they come.
double gamma_of(const Json& entry, int ranks, double bytes) {
  const double more =
      seconds_a_byte(entry.at("combining"), bytes) - seconds_a_byte(entry.at("exchange"), bytes);
  return std::max(0.0, more) / bytes_a_rank(1, ranks);
}

Link link_of(const Json& entry, double bytes) {
  const int ranks = entry.at("ranks").get<int>();
  Link link{.alpha = median({{"seconds", entry.at("alpha")}}),
            .words = entry.at("transport").get<std::string>() + " between " +
                     std::to_string(ranks) + " ranks"};
  double nearest = 0;
  for (const Json& knot : entry.at("exchange")) {
    const double sent = bytes_a_rank(knot.at("bytes").get<double>(), ranks);
    const double apart = std::abs(std::log(sent / bytes));
    if (link.rate > 0 && apart >= nearest) continue;
    nearest = apart;
    link.rate = sent / median(knot);
    link.beta = std::max(0.0, median(knot) - 2 * (ranks - 1) * link.alpha) / sent;
  }
  return link;
}

}  // namespace

Link read_link(const std::string& path, const std::string& transport, int ranks, double bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::invalid_argument, "--profile " + path + ": it is a folder",
                {.remedy = "the name of the file that `rondo calibrate --output FILE` made"});
  }
  std::ifstream file(path);
  const Json profile = Json::parse(file, nullptr, false);
  if (!file || profile.is_discarded()) refuse(path, "there is no such file, or it is not JSON");
  try {
    const Json* const entry = nearest_entry(profile, transport, ranks);
    if (entry == nullptr) refuse(path, "it has nothing about the transport '" + transport + "'");
    Link link = link_of(*entry, bytes);
    link.gamma = gamma_of(*entry, entry->at("ranks").get<int>(), bytes);
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
