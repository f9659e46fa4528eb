// The JSON of -J: nccl-tests' version 3, with rondo's version beside NCCL's.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench/common/options.h"
#include "bench/common/report.h"

namespace rondo::bench {

/// One document, filled in the order of the calls. `environment` are NAME=VALUE strings.
class JsonReport {
 public:
  JsonReport(const Options& options, std::string_view version,
             std::span<const std::string> arguments, std::span<const std::string> environment,
             std::string start_time);

  void devices(std::span<const Device> devices);
  void row(const Row& row);
  void finish(const Summary& summary, std::string end_time);

  const nlohmann::ordered_json& document() const { return document_; }

 private:
  nlohmann::ordered_json half(const Measurement& half) const;

  bool cpu_time_;
  int iterations_;
  nlohmann::ordered_json document_;
};

/// Creates `path`, or the first of path.0, path.1, ... that does not exist, and returns its name.
/// Throws std::runtime_error where that fails.
std::string claim_file(const std::string& path);

}  // namespace rondo::bench
