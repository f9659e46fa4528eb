#include "core/base/config.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// In the order of the names; `readers` below has a row for each.
constexpr std::array table{
    Setting{"RONDO_ALGORITHM", "NCCL_ALGO", "ring or ^ring or all_reduce:ring;broadcast:chain",
            "chosen by size", "force or exclude algorithms"},
    Setting{"RONDO_BOOTSTRAP_TIMEOUT", "", "seconds", "60",
            "how long the ranks wait for each other at the start"},
    Setting{"RONDO_COMM_BLOCKING", "NCCL_COMM_BLOCKING", "0 or 1", "what the program asks for",
            "NCCL's API: whether calls wait"},
    Setting{"RONDO_COMM_ID", "NCCL_COMM_ID", "address:port of rank 0", "where the id was made",
            "unique ids name this place"},
    Setting{"RONDO_DEBUG", "NCCL_DEBUG", "NONE, VERSION, WARN, INFO or TRACE", "WARN",
            "how much is logged"},
    Setting{"RONDO_DEBUG_FILE", "NCCL_DEBUG_FILE", "file name; %h is the host, %p the pid",
            "standard error", "where the log goes"},
    Setting{"RONDO_HOSTID", "NCCL_HOSTID", "text", "boot id and network namespace",
            "ranks with equal texts count as one machine"},
    Setting{"RONDO_IB_DISABLE", "NCCL_IB_DISABLE", "0 or 1", "0", "1: no InfiniBand and no RoCE"},
    Setting{"RONDO_IB_GID_INDEX", "NCCL_IB_GID_INDEX", "-1 to 65535", "-1",
            "RoCE: the entry of the port's GID table to use; -1: chosen, RoCE v2 on IPv4 first"},
    Setting{"RONDO_IB_HCA", "NCCL_IB_HCA", "mlx5,mlx4_0:1 or =mlx5_1 or ^mlx5_3",
            "every active port",
            "devices and ports: prefixes, exact names after '=', exclusion after '^'"},
    Setting{"RONDO_IB_PKEY", "NCCL_IB_PKEY", "0 to 65535", "0",
            "index of the partition key in the port's table"},
    Setting{"RONDO_IB_QPS_PER_CONNECTION", "NCCL_IB_QPS_PER_CONNECTION", "1 to 128", "1",
            "queue pairs a connection spreads over"},
    Setting{"RONDO_IB_RETRY_CNT", "NCCL_IB_RETRY_CNT", "0 to 7", "7",
            "how often a device sends again what nobody acknowledged"},
    Setting{"RONDO_IB_SL", "NCCL_IB_SL", "-1 to 15", "-1", "InfiniBand service level; -1 means 0"},
    Setting{"RONDO_IB_TC", "NCCL_IB_TC", "-1 to 255", "-1",
            "traffic class (RoCE: DSCP and ECN bits of the IP header); -1 means 0"},
    Setting{"RONDO_IB_TIMEOUT", "NCCL_IB_TIMEOUT", "1 to 31", "18",
            "an acknowledgement's time is 4.096 us times 2 to this power (18: 1.07 s)"},
    Setting{"RONDO_NCCL_VERSION", "", "20000 to 29999", "22809",
            "NCCL's API: the version that programs are told"},
    Setting{"RONDO_P2P_DISABLE", "NCCL_P2P_DISABLE", "0 or 1", "0",
            "1: GPU buffers go through the host's memory even where GPUs reach each other's"},
    Setting{"RONDO_PORT", "", "1 to 65535", "MASTER_PORT (+1 under torchrun's agent)",
            "where rank 0 listens"},
    Setting{"RONDO_SLOT_BYTES", "", "bytes, at most 1M", "the transport's own",
            "size of a slot of a channel"},
    Setting{"RONDO_SOCKETS", "NCCL_NSOCKS_PERTHREAD", "1 to 16", "1",
            "TCP connections per pair of ranks"},
    Setting{"RONDO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "eth,ib or =eth0 or ^docker", "automatic",
            "network interface: prefixes, exact names after '=', exclusion after '^'"},
    Setting{"RONDO_TIMEOUT", "", "seconds", "300",
            "longest silence of a peer inside a call before it fails"},
    Setting{"RONDO_TRACE", "", "file name", "no trace",
            "records calls and their steps into this file, .RANK behind it, for `rondo trace`"},
    Setting{"RONDO_TRACE_LIMIT", "", "1000 to 100000000", "1000000",
            "events that a rank's trace keeps, the newest; 32 B each"},
    Setting{"RONDO_TRANSPORT", "", "shm,tcp or ^shm", "best for each pair",
            "force or exclude transports"},
};

/// Why a value was refused; empty: it was taken.
using Reader = std::string (*)(const std::string& value, Config& config);

std::string read_seconds(const std::string& value, std::chrono::milliseconds& into) {
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc{} || stop != end || !std::isfinite(seconds)) return "is not a number";
  if (seconds < 0.001 || seconds > 1e8) return "is not between 0.001 and 100000000";
  into = std::chrono::milliseconds(std::llround(seconds * 1000));
  return {};
}

std::string read_bytes(const std::string& value, std::size_t& into) {
  const auto digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto number = parse_integer(std::string_view(value).substr(0, digits));
  auto unit = lower_case(std::string_view(value).substr(digits));
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  constexpr std::array<std::string_view, 4> units{"", "k", "m", "g"};
  const auto found = std::find(units.begin(), units.end(), unit);
  if (!number || found == units.end()) return "is not a size such as 65536, 64K or 4M";
  const auto shift = 10 * (found - units.begin());
  if (*number < 1 || *number > (1LL << 40) >> shift) return "is not between 1 and 1024G";
  into = static_cast<std::size_t>(*number) << shift;
  return {};
}

template <class Integer>
std::string read_integer(const std::string& value, long long least, long long most, Integer& into) {
  const auto number = parse_integer(value);
  if (!number || *number < least || *number > most) {
    return "is not a whole number between " + std::to_string(least) + " and " +
           std::to_string(most);
  }
  into = static_cast<Integer>(*number);
  return {};
}

/// -1 is NCCL's way to say "the default", which is 0.
std::string read_or_zero(const std::string& value, long long most, int& into) {
  std::string obstacle = read_integer(value, -1, most, into);
  if (obstacle.empty()) into = std::max(into, 0);
  return obstacle;
}

std::string read_flag(const std::string& value, bool& into) {
  if (value != "0" && value != "1") return "is neither 0 nor 1";
  into = value == "1";
  return {};
}

std::string read_level(const std::string& value, LogLevel& into) {
  constexpr std::array<std::pair<std::string_view, LogLevel>, 6> levels{{
      {"none", LogLevel::none},
      {"version", LogLevel::warn},
      {"warn", LogLevel::warn},
      {"abort", LogLevel::warn},
      {"info", LogLevel::info},
      {"trace", LogLevel::trace},
  }};
  for (const auto& [name, level] : levels) {
    if (name != lower_case(value)) continue;
    into = level;
    return {};
  }
  return "is none of NONE, VERSION, WARN, INFO, TRACE";
}

/// One per row of the table.
constexpr std::array<Reader, table.size()> readers{
    [](const std::string& value, Config& config) {
      config.algorithm = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_seconds(value, config.bootstrap_timeout);
    },
    [](const std::string& value, Config& config) {
      bool blocks = true;
      std::string obstacle = read_flag(value, blocks);
      if (obstacle.empty()) config.blocking = blocks;
      return obstacle;
    },
    [](const std::string& value, Config& config) {
      config.meeting = value;
      return std::string();
    },
    [](const std::string& value, Config& config) { return read_level(value, config.debug); },
    [](const std::string& value, Config& config) {
      config.debug_file = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      config.host_id = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_flag(value, config.infiniband.disable);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, -1, 65535, config.infiniband.gid_index);
    },
    [](const std::string& value, Config& config) {
      config.infiniband.hca = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 0, 65535, config.infiniband.pkey_index);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 128, config.infiniband.queue_pairs);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 0, 7, config.infiniband.retry_count);
    },
    [](const std::string& value, Config& config) {
      return read_or_zero(value, 15, config.infiniband.service_level);
    },
    [](const std::string& value, Config& config) {
      return read_or_zero(value, 255, config.infiniband.traffic_class);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 31, config.infiniband.timeout);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 20000, 29999, config.nccl_version);
    },
    [](const std::string& value, Config& config) {
      bool disabled = !config.peer_to_peer;
      std::string obstacle = read_flag(value, disabled);
      config.peer_to_peer = !disabled;
      return obstacle;
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 65535, config.port);
    },
    [](const std::string& value, Config& config) { return read_bytes(value, config.slot_bytes); },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 16, config.sockets);
    },
    [](const std::string& value, Config& config) {
      config.interface = value;
      return std::string();
    },
    [](const std::string& value, Config& config) { return read_seconds(value, config.timeout); },
    [](const std::string& value, Config& config) {
      config.trace = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1000, 100'000'000, config.trace_limit);
    },
    [](const std::string& value, Config& config) {
      config.transport = value;
      return std::string();
    },
};

/// NCCL's names for what rondo has. What has no counterpart is left out by the caller.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nccl_words{{
    {"ring", "ring"},
    {"tree", "double_tree"},
    {"allreduce", "all_reduce"},
    {"reducescatter", "reduce_scatter"},
    {"allgather", "all_gather"},
    {"broadcast", "broadcast"},
    {"reduce", "reduce"},
}};

std::optional<std::string> translate_word(const std::string& word) {
  for (const auto& [theirs, ours] : nccl_words) {
    if (theirs == lower_case(word)) return std::string(ours);
  }
  return std::nullopt;
}

/// "Ring,Tree", "^tree", "allreduce:tree;broadcast:ring" in rondo's words. std::nullopt when a
/// part has no counterpart: half of what was asked for is not what was asked for.
std::optional<std::string> translate_algorithms(const std::string& value) {
  std::string text;
  for (const auto& part : split(value, ';')) {
    const auto colon = part.find(':');
    if (!text.empty()) text += ';';
    if (colon != std::string::npos) {
      const auto collective = translate_word(part.substr(0, colon));
      if (!collective) return std::nullopt;
      text += *collective + ":";
    }
    auto names = colon == std::string::npos ? part : part.substr(colon + 1);
    if (names.starts_with('^')) {
      text += '^';
      names.erase(0, 1);
    }
    std::string separator;
    for (const auto& name : split(names, ',')) {
      const auto ours = translate_word(name);
      if (!ours) return std::nullopt;
      text += separator + *ours;
      separator = ",";
    }
  }
  return text;
}

/// Set by containers, launchers and benchmarks, or true of rondo in any case: not worth a warning.
bool harmless(std::string_view name) {
  constexpr std::array<std::string_view, 3> names{"NCCL_VERSION", "NCCL_ASYNC_ERROR_HANDLING",
                                                  "NCCL_BLOCKING_WAIT"};
  return name.starts_with("NCCL_TESTS_") ||
         std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const Environment& environment) {
  std::vector<std::string_view> known;
  for (const auto& setting : table) known.push_back(setting.name);
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with("RONDO_") || std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    const auto near = nearest(name, known);
    throw Error(ErrorCode::configuration,
                "the environment sets " + name + ", which is not a setting of rondo" +
                    (near.empty() ? "" : " (did you mean " + std::string(near) + "?)"),
                {.remedy = "unset it; the settings are " + join(known, ", ")});
  }
}

/// True when the value was taken.
bool read_alias(const Setting& setting, Reader reader, const std::string& value, Config& config) {
  if (setting.name != "RONDO_ALGORITHM") return reader(value, config).empty();
  const auto translated = translate_algorithms(value);
  return translated && reader(*translated, config).empty();
}

void read_nccl(const Environment& environment, Config& config) {
  std::vector<std::string> refused;
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with("NCCL_") || harmless(name)) continue;
    if (name == "NCCL_SHM_DISABLE") {
      if (value != "0") config.transport = "^shm";
      continue;
    }
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const auto& setting) { return setting.alias == name; });
    if (row == table.end()) {
      refused.push_back(name);
    } else if (!read_alias(*row, readers[static_cast<std::size_t>(row - table.begin())], value,
                           config)) {
      refused.push_back(name + "=" + value);
    }
  }
  if (refused.empty()) return;
  const std::vector<std::string_view> names(refused.begin(), refused.end());
  config.warning = "rondo has no counterpart for " + join(names, ", ") +
                   " and goes on without; RONDO_ settings are listed in the README";
}

Config read(const Environment& environment) {
  check_names(environment);
  Config config;
  read_nccl(environment, config);  // first: a RONDO_ name wins over its alias
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto value = environment.find(table[row].name);
    if (!value) continue;
    const auto obstacle = readers[row](*value, config);
    if (obstacle.empty()) continue;
    throw Error(ErrorCode::configuration,
                std::string(table[row].name) + "=" + *value + ": the value " + obstacle,
                {.remedy = std::string(table[row].name) + "=<" + std::string(table[row].form) +
                           "> (" + std::string(table[row].summary) + "; default " +
                           std::string(table[row].fallback) + ")"});
  }
  return config;
}

}  // namespace

std::span<const Setting> settings() { return table; }

Config read_config() {
  auto config = read(Environment(Environment::of_process()));
  static std::atomic_flag warned;
  // Relaxed: the flag only counts to one.
  if (!config.warning.empty() && !warned.test_and_set(std::memory_order_relaxed)) {
    configure_log(config.debug, config.debug_file);
    log(LogLevel::warn, -1, config.warning);
  }
  return config;
}

Config read_config(std::span<const std::string> environment) {
  return read(Environment(environment));
}

}  // namespace rondo
