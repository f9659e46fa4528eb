#include "transports/verbs/settings.h"

#include <algorithm>

#include "core/base/environment.h"
#include "core/base/numa.h"
#include "core/base/text.h"
#include "core/settings/settings.h"
#include "rondo/error.h"

namespace rondo::verbs {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorCode::configuration,
              name_as_set("RONDO_IB_HCA") + "=" + std::string(text) + ": " + why,
              {.remedy = "give prefixes and ports such as mlx5,mlx4_0:1, exact names after '=' "
                         "(=mlx5_1), exclusion after '^' (^mlx5_3); `rondo rdma` lists the "
                         "devices"});
}

/// A decimal number from 1 to 255, or 0 for anything else.
int parse_port(std::string_view text) {
  const auto port = parse_integer(text).value_or(0);
  return port >= 1 && port <= 255 ? static_cast<int>(port) : 0;
}

}  // namespace

HcaSelection::HcaSelection(std::string_view text) : text_(text) {
  std::string_view rest = text;
  if (rest.starts_with('^')) {
    excluding_ = true;
    rest.remove_prefix(1);
  }
  if (rest.starts_with('=')) {
    exact_ = true;
    rest.remove_prefix(1);
  }
  for (const std::string& part : split(rest, ',')) {
    const auto colon = part.find(':');
    Entry entry{.device = part.substr(0, colon)};
    if (entry.device.empty() || entry.device.find_first_of("^= \t") != std::string::npos)
      refuse(text, "'" + part + "' does not begin with the name of a device");
    if (colon != std::string::npos) {
      const std::string port = part.substr(colon + 1);
      if (port.find(':') != std::string::npos)
        refuse(text, "'" + part + "' names a port or a plane, which rondo does not know");
      entry.port = parse_port(port);
      if (entry.port == 0) refuse(text, "'" + port + "' in '" + part + "' is not a port");
    }
    entries_.push_back(std::move(entry));
  }
  if (entries_.empty() && !text.empty()) refuse(text, "it names no device");
}

bool HcaSelection::allows(std::string_view device, int port) const {
  if (entries_.empty()) return true;
  const bool named = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const bool fits = exact_ ? device == entry.device : device.starts_with(entry.device);
    return fits && (entry.port == 0 || entry.port == port);
  });
  return named != excluding_;
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
          .queue_pairs = config.queue_pairs,
          .numa_node = process_numa_node()};
}

std::chrono::microseconds retry_time(const Settings& settings) {
  const std::uint64_t nanoseconds = 4096ull << settings.timeout;  // the unit is 4.096 us
  return std::chrono::microseconds(nanoseconds * (settings.retry_count + 1u) / 1000);
}

}  // namespace rondo::verbs
