#include "core/base/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>

#include "core/base/config_files.h"
#include "core/base/config_nccl.h"
#include "core/base/config_values.h"
#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// In the order of the names; `readers` below has a row for each.
constexpr std::array table{
    Setting{"RONDO_ACCUMULATE", "", "type or wide", "type",
            "wide: add 8- and 16-bit floats in float32 and float32 in float64, and round once"},
    Setting{"RONDO_ALGORITHM", "NCCL_ALGO", "ring or ^ring or all_reduce:ring;broadcast:chain",
            "chosen by size", "use only these algorithms; after ^: all but these"},
    Setting{"RONDO_BOOTSTRAP_TIMEOUT", "", "seconds", "60",
            "longest wait for the other ranks at the start"},
    Setting{"RONDO_CHECK_POINTERS", "NCCL_CHECK_POINTERS", "0 or 1", "0",
            "NCCL's API without CUDA: 1: each call first checks that its buffers can be read; with "
            "CUDA it always does"},
    Setting{"RONDO_COMM_BLOCKING", "NCCL_COMM_BLOCKING", "0 or 1", "what the program asks for",
            "NCCL's API: 1: communicators are blocking; 0: non-blocking"},
    Setting{"RONDO_COMM_ID", "NCCL_COMM_ID", "address:port of rank 0", "where the id was made",
            "where the ranks of a unique id meet: rank 0 listens there"},
    Setting{"RONDO_CUMEM_ENABLE", "NCCL_CUMEM_ENABLE", "-2, 0 or 1", "-2",
            "GPU memory of ncclMemAlloc: -2 and 1: from cuMemCreate where driver and GPU support "
            "it; 0: from cuMemAlloc"},
    Setting{"RONDO_DEBUG", "NCCL_DEBUG", "NONE, VERSION, WARN, INFO or TRACE", "WARN",
            "how much is logged, from nothing to most"},
    Setting{"RONDO_DEBUG_FILE", "NCCL_DEBUG_FILE", "file name; %h is the host, %p the pid",
            "standard error", "the file that the log is written to"},
    Setting{"RONDO_DEBUG_SUBSYS", "NCCL_DEBUG_SUBSYS", "INIT,NET or ^TUNING", "ALL",
            "lines below WARN to log: INIT (start), P2P (paths between GPUs), NET (networks), REG "
            "(windows), ALLOC (memory), DESTROY (end), TUNING (choices), COLL (calls), PROFILE "
            "(traces); NCCL's other names: none"},
    Setting{"RONDO_DEVICE_EXECUTOR", "", "auto, resident or finite", "auto",
            "small calls between GPUs: resident: co-resident kernels that wait for each other; "
            "finite: copies and kernels that wait for nothing; auto: resident where it can run"},
    Setting{"RONDO_HOSTID", "NCCL_HOSTID", "text", "boot id and network namespace",
            "ranks with the same text count as one host"},
    Setting{"RONDO_IB_DISABLE", "NCCL_IB_DISABLE", "0 or 1", "0",
            "1: use neither InfiniBand nor RoCE"},
    Setting{"RONDO_IB_GID_INDEX", "NCCL_IB_GID_INDEX", "-1 to 65535", "-1",
            "RoCE: index into the port's GID table; -1: chosen, RoCE v2 over IPv4 first"},
    Setting{"RONDO_IB_HCA", "NCCL_IB_HCA", "mlx5,mlx4_0:1 or =mlx5_1 or ^mlx5_3",
            "every active port",
            "devices and ports to use: prefixes, exact names after =, all but these after ^"},
    Setting{"RONDO_IB_PKEY", "NCCL_IB_PKEY", "0 to 65535", "0",
            "index of the partition key in the port's table"},
    Setting{"RONDO_IB_QPS_PER_CONNECTION", "NCCL_IB_QPS_PER_CONNECTION", "1 to 128", "1",
            "queue pairs per connection"},
    Setting{"RONDO_IB_RETRY_CNT", "NCCL_IB_RETRY_CNT", "0 to 7", "7",
            "how often a device sends a packet again when no acknowledgement comes"},
    Setting{"RONDO_IB_SL", "NCCL_IB_SL", "-1 to 15", "-1", "InfiniBand service level; -1 means 0"},
    Setting{"RONDO_IB_TC", "NCCL_IB_TC", "-1 to 255", "-1",
            "traffic class (RoCE: DSCP and ECN bits of the IP header); -1 means 0"},
    Setting{"RONDO_IB_TIMEOUT", "NCCL_IB_TIMEOUT", "1 to 31", "18",
            "how long a device waits for an acknowledgement: 4.096 us times 2 to this power (18: "
            "1.07 s)"},
    Setting{"RONDO_JOIN_THREADS", "", "0 to 3600", "1",
            "NCCL's API: how many seconds ranks that are threads and share a GPU wait for each "
            "other, to launch once for all; 0: each launches for itself"},
    Setting{"RONDO_NCCL_VERSION", "", "20000 to 29999", "22809",
            "NCCL's API: the version number that programs are told"},
    Setting{"RONDO_NET_GDR_LEVEL", "NCCL_NET_GDR_LEVEL", "LOC or SYS", "LOC",
            "SYS: InfiniBand and RoCE devices read GPU memory of ncclMemAlloc directly when a rank "
            "sends from it; LOC: never"},
    Setting{"RONDO_P2P_DISABLE", "NCCL_P2P_DISABLE", "0 or 1", "0",
            "1: GPU buffers go through host memory even where GPUs reach each other's memory"},
    Setting{"RONDO_P2P_LEVEL", "NCCL_P2P_LEVEL", "LOC or SYS", "SYS",
            "LOC: as RONDO_P2P_DISABLE=1"},
    Setting{"RONDO_PORT", "", "1 to 65535", "MASTER_PORT (+1 under torchrun's agent)",
            "the port where rank 0 listens"},
    Setting{"RONDO_REPRODUCIBLE", "", "0 or 1", "0",
            "1: the bits of reduced floats do not depend on size, algorithm, transport or machine"},
    Setting{"RONDO_SLOT_BYTES", "", "bytes, at most 1M", "the transport's own",
            "size of one slot of a channel"},
    Setting{"RONDO_SOCKETS", "NCCL_NSOCKS_PERTHREAD", "1 to 16", "1",
            "TCP connections per pair of ranks"},
    Setting{"RONDO_SOCKET_FAMILY", "NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6", "either",
            "use only IPv4 or only IPv6 addresses of network interfaces"},
    Setting{"RONDO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "eth,ib or =eth0 or ^docker", "automatic",
            "network interface to use, the first that fits: prefixes, exact names after =, all but "
            "these after ^"},
    Setting{"RONDO_TIMEOUT", "", "seconds", "300",
            "a call fails when a peer stays silent for so long"},
    Setting{"RONDO_TRACE", "", "file name", "no trace",
            "record calls and their steps for `rondo trace`; each rank writes this file name with "
            ".RANK appended"},
    Setting{"RONDO_TRACE_LIMIT", "", "1000 to 100000000", "1000000",
            "how many events each rank's trace keeps, the newest ones; 32 B each"},
    Setting{"RONDO_TRANSPORT", "", "shm,tcp or ^shm", "best for each pair",
            "use only these transports; after ^: all but these"},
};

/// Why a value was refused; empty: it was taken.
using Reader = std::string (*)(const std::string& value, Config& config);

/// One per row of the table.
constexpr std::array<Reader, table.size()> readers{
    [](const std::string& value, Config& config) {
      return read_accumulation(value, config.accumulate_wide);
    },
    [](const std::string& value, Config& config) {
      config.algorithm = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_seconds(value, config.bootstrap_timeout);
    },
    [](const std::string& value, Config& config) {
      return read_flag(value, config.check_pointers);
    },
    [](const std::string& value, Config& config) { return read_flag(value, config.blocking); },
    [](const std::string& value, Config& config) {
      config.meeting = value;
      return std::string();
    },
    [](const std::string& value, Config& config) { return read_cumem(value, config.segments); },
    [](const std::string& value, Config& config) { return read_level(value, config.debug.level); },
    [](const std::string& value, Config& config) {
      config.debug.file = value;
      return std::string();
    },
    [](const std::string& value, Config& config) {
      return read_subsystems(value, config.debug.subsystems);
    },
    [](const std::string& value, Config& config) {
      return read_executor(value, config.device_executor);
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
      return read_integer(value, 0, 3600, config.join_threads);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 20000, 29999, config.nccl_version);
    },
    [](const std::string& value, Config& config) {
      return read_distance(value, config.infiniband.reads_gpus);
    },
    [](const std::string& value, Config& config) {
      bool disabled = !config.peer_to_peer;
      std::string obstacle = read_flag(value, disabled);
      config.peer_to_peer = !disabled;
      return obstacle;
    },
    [](const std::string& value, Config& config) {
      return read_distance(value, config.peers_at_any_distance);
    },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 65535, config.port);
    },
    [](const std::string& value, Config& config) { return read_flag(value, config.reproducible); },
    [](const std::string& value, Config& config) { return read_bytes(value, config.slot_bytes); },
    [](const std::string& value, Config& config) {
      return read_integer(value, 1, 16, config.sockets);
    },
    [](const std::string& value, Config& config) { return read_family(value, config.family); },
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

/// Each leaves a transport out; RONDO_TRANSPORT wins over them.
constexpr std::array nccl_table{
    Setting{"", "NCCL_NET", "Socket or IB", "best for each pair",
            "Socket: as RONDO_TRANSPORT=^verbs; IB: as RONDO_TRANSPORT=^tcp; plugins are not "
            "supported"},
    Setting{"", "NCCL_SHM_DISABLE", "0 or 1", "0", "1: as RONDO_TRANSPORT=^shm"},
};

/// One per row of nccl_table: `into` is the transport left out, or empty.
using NcclReader = std::string (*)(const std::string& value, std::string& into);
constexpr std::array<NcclReader, nccl_table.size()> nccl_readers{
    read_network,
    [](const std::string& value, std::string& into) {
      const auto number = parse_number(value);
      if (!number) return std::string("is no number");
      if (*number != 0) into = "shm";  // NCCL takes every other one for a yes
      return std::string();
    },
};

/// NCCL's names and rondo's. The caller leaves out names without a counterpart.
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
  constexpr std::array<std::string_view, 5> names{"NCCL_VERSION", "NCCL_ASYNC_ERROR_HANDLING",
                                                  "NCCL_BLOCKING_WAIT", "NCCL_CONF_FILE",
                                                  "NCCL_MULTI_RANK_GPU_ENABLE"};
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

/// The index of the name's row.
template <class Rows>
std::optional<std::size_t> find_alias(const Rows& rows, std::string_view name) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const auto& setting) { return setting.alias == name; });
  if (row == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(row - rows.begin());
}

/// True when the value was taken.
bool read_alias(std::size_t row, const std::string& value, Config& config) {
  if (table[row].name != "RONDO_ALGORITHM") return readers[row](value, config).empty();
  const auto translated = translate_algorithms(value);
  return translated && readers[row](*translated, config).empty();
}

/// The same for the variables that leave transports out.
bool leave_out(std::size_t row, const std::string& value, Config& config) {
  std::string transport;
  if (!nccl_readers[row](value, transport).empty()) return false;
  if (!transport.empty()) config.transport += (config.transport.empty() ? "^" : ",") + transport;
  return true;
}

void read_nccl(const Environment& environment, Config& config) {
  std::vector<std::string> refused;
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with("NCCL_") || harmless(name)) continue;
    const auto row = find_alias(table, name);
    const auto other = find_alias(nccl_table, name);
    if (!row && !other) {
      refused.push_back(name + words_of_what_was_meant(name));
    } else if (row ? !read_alias(*row, value, config) : !leave_out(*other, value, config)) {
      refused.push_back(name + "=" + value);
    }
  }
  const auto file = environment.find("NCCL_CONF_FILE");
  if (file && ::access(file->c_str(), R_OK) != 0)
    config.warning = "cannot read " + *file + ", which NCCL_CONF_FILE names";
  if (refused.empty()) return;
  const std::vector<std::string_view> names(refused.begin(), refused.end());
  config.warning += std::string(config.warning.empty() ? "" : "; ") +
                    "rondo has no counterpart for " + join(names, ", ") +
                    " and goes on without; the RONDO_ settings are listed in core/base/README.md";
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
  config.peer_to_peer = config.peer_to_peer && config.peers_at_any_distance;
  return config;
}

}  // namespace

std::span<const Setting> settings() { return table; }
std::span<const Setting> nccl_settings() { return nccl_table; }

Config read_config() {
  auto config = read(Environment(environment_with_files()));
  static std::atomic_flag warned;
  // Relaxed: the flag only counts to one.
  if (!config.warning.empty() && !warned.test_and_set(std::memory_order_relaxed)) {
    configure_log(config.debug);
    log(LogLevel::warn, -1, config.warning);
  }
  return config;
}

Config read_config(std::span<const std::string> environment) {
  return read(Environment(environment));
}

std::string words_of_raising_timeout(bool from_program) {
  return from_program ? "raise the timeout that the program set" : "raise RONDO_TIMEOUT";
}

}  // namespace rondo
