#include "core/settings/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/settings/nccl.h"
#include "core/settings/nccl_files.h"
#include "core/settings/values.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// The setting's place in the Config: a member, or a member's member.
template <auto... path>
auto& field(Config& config) {
  return (config.*....*path);
}

// What a row's value becomes, in its last column. `value`: by the type of its place.
template <auto... path>
std::string value(const std::string& text, Config& config) {
  return read_value(text, field<path...>(config));
}
/// In a way of its own.
template <auto read, auto... path>
std::string by(const std::string& text, Config& config) {
  return read(text, field<path...>(config));
}
template <long long least, long long most, auto... path>
std::string number(const std::string& text, Config& config) {
  return read_integer(text, least, most, field<path...>(config));
}
/// -1 is NCCL's way to say "the default", which is 0.
template <long long most, auto... path>
std::string number_or_zero(const std::string& text, Config& config) {
  std::string refusal = number<-1, most, path...>(text, config);
  field<path...>(config) = std::max(field<path...>(config), 0);
  return refusal;
}

/// In the order of the names; last those that only NCCL has a name for.
constexpr Setting table[] = {
    {"RONDO_ACCUMULATE", "", "type or wide", "type",
     "wide: add 8- and 16-bit floats in float32 and float32 in float64, and round once",
     by<read_accumulation, &Config::accumulate_wide>},
    {"RONDO_ALGORITHM", "NCCL_ALGO", "ring or ^ring or all_reduce:ring;broadcast:chain",
     "chosen by size", "use only these algorithms; after ^: all but these",
     value<&Config::algorithm>, translate_algorithms},
    {"RONDO_BOOTSTRAP_TIMEOUT", "", "seconds", "60",
     "longest wait for the other ranks at the start", value<&Config::bootstrap_timeout>},
    {"RONDO_CHECKSUM", "", "0 or 1", "0",
     "1: each message carries a CRC32C of its bytes, and the receiver compares it: data that "
     "changes on the way is an error; calls read no memory of other ranks directly",
     value<&Config::checksum>},
    {"RONDO_CHECK_POINTERS", "NCCL_CHECK_POINTERS", "0 or 1", "0",
     "NCCL's API without CUDA: 1: each call first checks that its buffers can be read; with "
     "CUDA it always does",
     value<&Config::check_pointers>},
    {"RONDO_COMM_BLOCKING", "NCCL_COMM_BLOCKING", "0 or 1", "what the program asks for",
     "NCCL's API: 1: communicators are blocking; 0: non-blocking", value<&Config::blocking>},
    {"RONDO_COMM_ID", "NCCL_COMM_ID", "address:port of rank 0", "where the id was made",
     "where the ranks of a unique id meet: rank 0 listens there", value<&Config::bootstrap>},
    {"RONDO_CUMEM_ENABLE", "NCCL_CUMEM_ENABLE", "-2, 0 or 1", "-2",
     "GPU memory of ncclMemAlloc: -2 and 1: from cuMemCreate where driver and GPU support "
     "it; 0: from cuMemAlloc",
     by<read_cumem, &Config::segments>},
    {"RONDO_DEBUG", "NCCL_DEBUG", "NONE, VERSION, WARN, INFO or TRACE", "WARN",
     "how much is logged, from nothing to most", value<&Config::debug, &LogSettings::level>},
    {"RONDO_DEBUG_FILE", "NCCL_DEBUG_FILE", "file name; %h is the host, %p the pid",
     "standard error", "the file that the log is written to",
     value<&Config::debug, &LogSettings::file>},
    {"RONDO_DEBUG_SUBSYS", "NCCL_DEBUG_SUBSYS", "INIT,NET or ^TUNING", "ALL",
     "lines below WARN to log: INIT (start), P2P (paths between GPUs), NET (networks), REG "
     "(windows), ALLOC (memory), DESTROY (end), TUNING (choices), COLL (calls), PROFILE "
     "(traces); NCCL's other names: none",
     by<read_subsystems, &Config::debug, &LogSettings::subsystems>},
    {"RONDO_DEVICE_EXECUTOR", "", "auto, resident or finite", "auto",
     "calls between GPUs: resident: co-resident kernels that wait for each other; "
     "finite: copies and kernels that wait for nothing; auto: resident where it can run",
     value<&Config::device_executor>},
    {"RONDO_HOSTID", "NCCL_HOSTID", "text", "boot id and network namespace",
     "ranks with the same text count as one host", value<&Config::host_id>},
    {"RONDO_IB_DISABLE", "NCCL_IB_DISABLE", "0 or 1", "0", "1: use neither InfiniBand nor RoCE",
     value<&Config::infiniband, &InfinibandConfig::disable>},
    {"RONDO_IB_GID_INDEX", "NCCL_IB_GID_INDEX", "-1 to 65535", "-1",
     "RoCE: index into the port's GID table; -1: chosen, RoCE v2 over IPv4 first",
     number<-1, 65535, &Config::infiniband, &InfinibandConfig::gid_index>},
    {"RONDO_IB_HCA", "NCCL_IB_HCA", "mlx5,mlx4_0:1 or =mlx5_1 or ^mlx5_3", "every active port",
     "devices and ports to use: prefixes, exact names after =, all but these after ^",
     value<&Config::infiniband, &InfinibandConfig::hca>},
    {"RONDO_IB_PKEY", "NCCL_IB_PKEY", "0 to 65535", "0",
     "index of the partition key in the port's table",
     number<0, 65535, &Config::infiniband, &InfinibandConfig::pkey_index>},
    {"RONDO_IB_QPS_PER_CONNECTION", "NCCL_IB_QPS_PER_CONNECTION", "1 to 128", "1",
     "queue pairs per connection",
     number<1, 128, &Config::infiniband, &InfinibandConfig::queue_pairs>},
    {"RONDO_IB_RETRY_CNT", "NCCL_IB_RETRY_CNT", "0 to 7", "7",
     "how often a device sends a packet again when no acknowledgement comes",
     number<0, 7, &Config::infiniband, &InfinibandConfig::retry_count>},
    {"RONDO_IB_SL", "NCCL_IB_SL", "-1 to 15", "-1", "InfiniBand service level; -1 means 0",
     number_or_zero<15, &Config::infiniband, &InfinibandConfig::service_level>},
    {"RONDO_IB_TC", "NCCL_IB_TC", "-1 to 255", "-1",
     "traffic class (RoCE: DSCP and ECN bits of the IP header); -1 means 0",
     number_or_zero<255, &Config::infiniband, &InfinibandConfig::traffic_class>},
    {"RONDO_IB_TIMEOUT", "NCCL_IB_TIMEOUT", "1 to 31", "18",
     "how long a device waits for an acknowledgement: 4.096 us times 2 to this power (18: "
     "1.07 s)",
     number<1, 31, &Config::infiniband, &InfinibandConfig::timeout>},
    {"RONDO_JOIN_THREADS", "", "0 to 3600", "1",
     "how many seconds ranks that are threads and share a GPU wait for each other, to launch once "
     "for all; 0: each launches for itself",
     number<0, 3600, &Config::join_threads>},
    {"RONDO_LINK_COSTS", "", "memory_alpha=3e-7,network_beta=8e-11", "what ships, ports' speeds",
     "seconds a message (alpha), a byte (beta) and a reduced byte (gamma), for the choice of "
     "algorithms where hosts have several ranks: memory_alpha, memory_beta, network_alpha, "
     "network_beta, gamma; `rondo calibrate` measures them",
     by<read_costs, &Config::link_costs>},
    {"RONDO_NCCL_VERSION", "", "20000 to 29999", "22809",
     "NCCL's API: the version number that programs are told",
     number<20000, 29999, &Config::nccl_version>},
    {"RONDO_P2P_DISABLE", "NCCL_P2P_DISABLE", "0 or 1", "0",
     "1: GPU buffers go through host memory even where GPUs reach each other's memory",
     by<read_denial, &Config::peer_to_peer>},
    {"RONDO_P2P_LEVEL", "NCCL_P2P_LEVEL", "LOC or SYS", "SYS", "LOC: as RONDO_P2P_DISABLE=1",
     by<read_distance, &Config::peers_at_any_distance>},
    {"RONDO_PORT", "", "1 to 65535", "MASTER_PORT (+1 under torchrun's agent)",
     "the port where rank 0 listens", number<1, 65535, &Config::port>},
    {"RONDO_REPRODUCIBLE", "", "0 or 1", "0",
     "1: the bits of reduced floats do not depend on size, algorithm, transport or machine",
     value<&Config::reproducible>},
    {"RONDO_SCHEDULES", "", "folder or file", "none",
     "schedules of your own, rank 0's: files NAME.schedule in the folder, or this file; each "
     "serves "
     "the calls that it is for",
     value<&Config::schedules>},
    {"RONDO_SECRET", "", "text of 16 characters or more", "none: the job is open",
     "what all ranks of a job know and strangers do not; rondorun makes one",
     value<&Config::secret>},
    {"RONDO_SECRET_FILE", "", "file name", "RONDO_SECRET",
     "the file that holds the job's secret; wins over RONDO_SECRET",
     by<read_secret_file, &Config::secret>},
    {"RONDO_SLOT_BYTES", "", "bytes, at most 1M", "the transport's own",
     "size of one slot of a channel", by<read_bytes, &Config::slot_bytes>},
    {"RONDO_SOCKETS", "NCCL_NSOCKS_PERTHREAD", "1 to 16", "1", "TCP connections per pair of ranks",
     number<1, 16, &Config::sockets>},
    {"RONDO_SOCKET_FAMILY", "NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6", "either",
     "use only IPv4 or only IPv6 addresses of network interfaces", value<&Config::family>},
    {"RONDO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "eth,ib or =eth0 or ^docker", "automatic",
     "network interfaces to use, in turn: prefixes, exact names after =, all but these after ^",
     value<&Config::interface>},
    {"RONDO_TIMEOUT", "", "seconds", "300", "a call fails when a peer stays silent for so long",
     value<&Config::timeout>},
    {"RONDO_TRACE", "", "file name", "no trace",
     "record calls and their steps for `rondo trace`; each rank writes this file name with "
     ".RANK appended",
     value<&Config::trace>},
    {"RONDO_TRACE_LIMIT", "", "1000 to 100000000", "1000000",
     "how many events each rank's trace keeps, the newest ones; 32 B each",
     number<1000, 100'000'000, &Config::trace_limit>},
    {"RONDO_TRANSPORT", "", "shm,tcp or ^shm", "best for each pair",
     "use only these transports; after ^: all but these", value<&Config::transport>},
    {"", "NCCL_NET", "Socket or IB", "best for each pair",
     "Socket: as RONDO_TRANSPORT=^verbs; IB: as RONDO_TRANSPORT=^tcp; plugins are not "
     "supported",
     leave_out_network},
    {"", "NCCL_SHM_DISABLE", "0 or 1", "0", "1: as RONDO_TRANSPORT=^shm", leave_out_shm},
};

void check_names(const Environment& environment) {
  std::vector<std::string_view> known;
  for (const Setting& row : table)
    if (!row.name.empty()) known.push_back(row.name);
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with("RONDO_") || std::ranges::find(known, name) != known.end()) continue;
    const auto near = nearest(name, known);
    throw Error(ErrorCode::configuration,
                "the environment sets " + name + ", which is not a setting of rondo" +
                    (near.empty() ? "" : " (did you mean " + std::string(near) + "?)"),
                {.remedy = "unset it; the settings are " + join(known, ", ")});
  }
}

/// True when the value was taken.
bool take(const Setting& row, const std::string& value, Config& config) {
  if (row.translate == nullptr) return row.read(value, config).empty();
  const auto translated = row.translate(value);
  return translated && row.read(*translated, config).empty();
}

void read_nccl(const Environment& environment, Config& config) {
  std::vector<std::string> refused;
  for (const auto& [name, value] : environment.all()) {
    if (!name.starts_with("NCCL_") || is_harmless(name)) continue;
    const auto row = std::ranges::find(table, std::string_view(name), &Setting::alias);
    if (row == std::end(table))
      refused.push_back(name + words_of_what_was_meant(name));
    else if (!take(*row, value, config))
      refused.push_back(name + "=" + value);
  }
  const auto file = environment.find("NCCL_CONF_FILE");
  if (file && ::access(file->c_str(), R_OK) != 0)
    config.warning = "cannot read " + *file + ", which NCCL_CONF_FILE names";
  if (refused.empty()) return;
  const std::vector<std::string_view> names(refused.begin(), refused.end());
  config.warning +=
      std::string(config.warning.empty() ? "" : "; ") + "rondo has no counterpart for " +
      join(names, ", ") +
      " and goes on without; the RONDO_ settings are listed in core/settings/README.md";
}

Config read(const Environment& environment) {
  check_names(environment);
  Config config;
  read_nccl(environment, config);  // first: a RONDO_ name wins over its alias
  for (const Setting& row : table) {
    const auto value = environment.find(row.name);
    if (!value) continue;
    const std::string refusal = row.read(*value, config);
    if (refusal.empty()) continue;
    const std::string name(row.name);
    const bool is_secret = name == "RONDO_SECRET";  // not for logs
    throw Error(ErrorCode::configuration,
                name + (is_secret ? "" : "=" + *value) + ": the value " + refusal,
                {.remedy = name + "=<" + std::string(row.form) + "> (" + std::string(row.summary) +
                           "; default " + std::string(row.fallback) + ")"});
  }
  config.peer_to_peer = config.peer_to_peer && config.peers_at_any_distance;
  return config;
}

}  // namespace

std::span<const Setting> settings() { return table; }

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

std::string name_as_set(std::string_view name) {
  return name_as_set(name, environment_with_files());
}

std::string name_as_set(std::string_view name, std::span<const std::string> environment) {
  const Environment set(environment);
  const auto row = std::ranges::find(settings(), name, &Setting::name);
  const bool by_alias = row != settings().end() && !set.find(name) && set.find(row->alias);
  return std::string(by_alias ? row->alias : name);
}

}  // namespace rondo
