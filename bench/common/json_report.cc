#include "bench/common/json_report.h"

#include <fcntl.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "bench/common/statistics.h"
#include "core/base/unique_fd.h"

namespace rondo::bench {
namespace {

using Json = nlohmann::ordered_json;

/// nccl-tests writes booleans and NaN as strings.
const char* boolean(bool value) { return value ? "true" : "false"; }
Json number(double value) { return std::isnan(value) ? Json("nan") : Json(value); }

Json microseconds(const std::vector<double>& seconds) {
  Json list = Json::array();
  for (const double value : seconds) list.push_back(number(value * 1e6));
  return list;
}

Json iterations_of(const IterationTimes& times) {
  const Statistics statistics =
      statistics_of({times.longest.begin() + times.skipped, times.longest.end()});
  Json json{
      {"skipped_iterations", times.skipped},      {"min_us", number(statistics.min * 1e6)},
      {"max_us", number(statistics.max * 1e6)},   {"avg_us", number(statistics.mean * 1e6)},
      {"p50_us", number(statistics.p50 * 1e6)},   {"p95_us", number(statistics.p95 * 1e6)},
      {"p99_us", number(statistics.p99 * 1e6)},   {"stdev_us", number(statistics.deviation * 1e6)},
      {"cv_pct", number(statistics.variation())}, {"times_us", microseconds(times.longest)}};
  if (times.process.size() > 1) {
    Json rows = Json::array();
    for (const auto& row : times.process) rows.push_back(microseconds(row));
    json["per_process_max_times_us"] = std::move(rows);
  }
  return json;
}

Json config_of(const Options& options) {
  Json config{{"nthreads", options.threads},
              {"ngpus", 0},
              {"minimum_bytes", options.minimum_bytes},
              {"maximum_bytes", options.maximum_bytes}};
  if (options.step_factor > 1) {
    config["step_factor"] = options.step_factor;
  } else {
    config["step_bytes"] = options.step_bytes;
  }
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.aggregated;
  config["validation"] = options.checks;
  config["graph"] = 0;
  config["blocking_collectives"] = boolean(options.blocking != 0);
  config["per_iter_timing"] = boolean(options.per_iteration);
  config["per_iter_skip"] = options.per_iteration_skip;
  config["parallel_init"] = boolean(options.threads > 1);
  config["unalign"] = options.misalign;
  config["algorithm"] = options.algorithm;
  config["transport"] = options.transport;
  config["counts"] = options.count_pattern ? to_string(*options.count_pattern) : "";
  config["devices"] = Json::array();
  return config;
}

}  // namespace

JsonReport::JsonReport(const Options& options, std::string_view version,
                       std::span<const std::string> arguments,
                       std::span<const std::string> environment, std::string start_time)
    : cpu_time_(options.cpu_time), iterations_(options.iterations) {
  document_ = Json{{"version", 3},
                   {"start_time", std::move(start_time)},
                   {"args", std::vector<std::string>(arguments.begin(), arguments.end())},
                   {"env", std::vector<std::string>(environment.begin(), environment.end())},
                   {"nccl_version", 0},
                   {"rondo_version", version},
                   {"config", config_of(options)},
                   {"results", Json::array()}};
}

void JsonReport::devices(std::span<const Device> devices) {
  for (const Device& device : devices) {
    document_["config"]["devices"].push_back(Json{{"rank", device.rank},
                                                  {"group", device.group},
                                                  {"pid", device.pid},
                                                  {"hostname", device.host},
                                                  {"device", device.device},
                                                  {"device_hex", "cpu"},
                                                  {"device_info", device.model}});
  }
}

Json JsonReport::half(const Measurement& half) const {
  return Json{{cpu_time_ ? "cpu_time" : "time", number(half.seconds * 1e6)},
              {"alg_bw", number(half.algbw)},
              {"bus_bw", number(half.busbw)},
              {"nwrong", half.wrong ? Json(*half.wrong) : Json(nullptr)}};
}

void JsonReport::row(const Row& row) {
  Json json{{"size", row.bytes},
            {"count", row.count},
            {"type", row.type},
            {"redop", row.redop},
            {"root", std::to_string(row.root)}};
  const auto add = [&](const char* key, const std::optional<Measurement>& part) {
    json[key] = part ? half(*part) : Json(nullptr);
    if (part && part->iterations) {
      json[std::string(key) + "_per_iter"] = iterations_of(*part->iterations);
    }
  };
  add("out_of_place", row.out_of_place);
  add("in_place", row.in_place);
  json["actual_iterations"] = iterations_;
  json["experiment_name"] = "";
  document_["results"].push_back(std::move(json));
}

void JsonReport::finish(const Summary& summary, std::string end_time) {
  document_["out_of_bounds"] =
      Json{{"count", summary.failures}, {"okay", boolean(summary.failures == 0)}};
  document_["average_bus_bandwidth"] =
      Json{{"bandwidth", number(summary.average_busbw)},
           {"okay", summary.required ? boolean(summary.fast_enough()) : "unchecked"}};
  document_["choices"] = summary.choices;
  document_["errors"] = summary.errors;
  document_["end_time"] = std::move(end_time);
}

std::string claim_file(const std::string& path) {
  std::string candidate = path;
  for (int attempt = 0;; ++attempt) {
    const UniqueFd file(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() >= 0) return candidate;
    if (errno != EEXIST) {
      throw std::runtime_error("cannot create " + candidate + ": " + std::strerror(errno));
    }
    candidate = path + "." + std::to_string(attempt);
  }
}

}  // namespace rondo::bench
