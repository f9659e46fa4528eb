#include "transports/verbs/settings.h"

namespace rondo::verbs {

Settings make_settings(const InfinibandConfig& config) {
  return {.hcas = HcaSelection(config.hca),
          .disabled = config.disable,
          .gid_index = config.gid_index,
          .timeout = static_cast<std::uint8_t>(config.timeout),
          .retry_count = static_cast<std::uint8_t>(config.retry_count),
          .service_level = static_cast<std::uint8_t>(config.service_level),
          .traffic_class = static_cast<std::uint8_t>(config.traffic_class),
          .pkey_index = static_cast<std::uint16_t>(config.pkey_index),
          .queue_pairs = config.queue_pairs};
}

std::chrono::microseconds retry_time(const Settings& settings) {
  const std::uint64_t nanoseconds = 4096ull << settings.timeout;  // the unit is 4.096 us
  return std::chrono::microseconds(nanoseconds * (settings.retry_count + 1u) / 1000);
}

}  // namespace rondo::verbs
