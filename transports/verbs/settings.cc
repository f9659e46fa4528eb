#include "transports/verbs/settings.h"

#include <sched.h>

#include <set>
#include <string>
#include <system_error>

namespace rondo::verbs {
namespace {

/// The kernel links each processor's folder to its node's: "cpu3/node0".
std::string node_of(const std::filesystem::path& processor) {
  std::error_code ignored;  // no such folder: nothing is known
  for (const auto& entry : std::filesystem::directory_iterator(processor, ignored)) {
    const std::string name = entry.path().filename();
    if (name.size() > 4 && name.starts_with("node")) return name.substr(4);
  }
  return {};
}

}  // namespace

int process_numa_node(const std::filesystem::path& processors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return -1;
  std::set<std::string> nodes;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed))
      nodes.insert(node_of(processors / ("cpu" + std::to_string(processor))));
    if (nodes.size() > 1) return -1;
  }
  const std::string node = nodes.empty() ? "" : *nodes.begin();
  const bool is_number =
      !node.empty() && node.size() < 6 && node.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoi(node) : -1;
}

Settings make_settings(const InfinibandConfig& config) {
  return {.hcas = HcaSelection(config.hca),
          .disabled = config.disable,
          .gid_index = config.gid_index,
          .timeout = static_cast<std::uint8_t>(config.timeout),
          .retry_count = static_cast<std::uint8_t>(config.retry_count),
          .service_level = static_cast<std::uint8_t>(config.service_level),
          .traffic_class = static_cast<std::uint8_t>(config.traffic_class),
          .pkey_index = static_cast<std::uint16_t>(config.pkey_index),
          .reads_gpus = config.reads_gpus,
          .queue_pairs = config.queue_pairs,
          .numa_node = process_numa_node()};
}

std::chrono::microseconds retry_time(const Settings& settings) {
  const std::uint64_t nanoseconds = 4096ull << settings.timeout;  // the unit is 4.096 us
  return std::chrono::microseconds(nanoseconds * (settings.retry_count + 1u) / 1000);
}

}  // namespace rondo::verbs
