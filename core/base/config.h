// Config: the values of all settings. core/settings reads them from the environment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/address_family.h"
#include "core/base/config_infiniband.h"
#include "core/base/config_log.h"
#include "core/base/secret.h"

namespace rondo {

/// How calls between devices run: by co-resident kernels that wait for other ranks (resident), or
/// only by copies and kernels that wait for nothing (finite).
enum class DeviceExecutor : std::uint8_t { automatic, resident, finite };

/// The text of a schedule that a user wrote (core/schedule/text.h).
struct ScheduleText {
  std::string source{};  ///< its file
  std::string text{};

  static void fields(auto& self, auto& archive) { archive(self.source, self.text); }
  friend bool operator==(const ScheduleText&, const ScheduleText&) = default;
};

/// Value type.
struct Config {
  std::string transport{};                     ///< RONDO_TRANSPORT
  std::string algorithm{};                     ///< RONDO_ALGORITHM
  std::string schedules{};                     ///< RONDO_SCHEDULES
  std::vector<ScheduleText> schedule_texts{};  ///< what `schedules` names, of rank 0
  std::chrono::milliseconds timeout{std::chrono::seconds{300}};  ///< RONDO_TIMEOUT
  bool timeout_from_program = false;  ///< `timeout` was set by the program, which wins
  std::chrono::milliseconds bootstrap_timeout{
      std::chrono::seconds{60}};  ///< RONDO_BOOTSTRAP_TIMEOUT
  std::uint16_t port = 0;         ///< RONDO_PORT; 0: MASTER_PORT (or +1 under torchrun's agent)
  std::string interface {};       ///< RONDO_SOCKET_IFNAME
  int sockets = 1;                ///< RONDO_SOCKETS
  bool checksum = false;          ///< RONDO_CHECKSUM
  std::size_t slot_bytes = 0;     ///< RONDO_SLOT_BYTES; 0: the transport's default
  std::string link_costs{};       ///< RONDO_LINK_COSTS
  std::string host_id{};          ///< RONDO_HOSTID
  std::string bootstrap{};        ///< RONDO_COMM_ID
  Secret secret{};                ///< RONDO_SECRET_FILE, RONDO_SECRET; none: the job is open
  std::optional<bool> check_pointers{};  ///< RONDO_CHECK_POINTERS
  std::optional<bool> blocking{};        ///< RONDO_COMM_BLOCKING
  int nccl_version = 22809;              ///< RONDO_NCCL_VERSION
  bool peer_to_peer = true;              ///< neither RONDO_P2P_DISABLE nor RONDO_P2P_LEVEL says no
  bool peers_at_any_distance = true;     ///< RONDO_P2P_LEVEL: SYS
  int join_threads = 1;                  ///< RONDO_JOIN_THREADS: seconds; 0: never
  bool segments = true;                  ///< RONDO_CUMEM_ENABLE: where they can be had
  bool reproducible = false;             ///< RONDO_REPRODUCIBLE: all calls are
  bool accumulate_wide = false;          ///< RONDO_ACCUMULATE: floats in the wider type
  InfinibandConfig infiniband{};         ///< RONDO_IB_*
  LogSettings debug{};                   ///< RONDO_DEBUG...
  AddressFamily family = AddressFamily::any;                   ///< RONDO_SOCKET_FAMILY
  DeviceExecutor device_executor = DeviceExecutor::automatic;  ///< RONDO_DEVICE_EXECUTOR
  std::string trace{};                                         ///< RONDO_TRACE; empty: no trace
  std::size_t trace_limit = 1'000'000;                         ///< RONDO_TRACE_LIMIT: events a rank
  std::string warning{};  ///< names what is set and cannot be honoured, or empty
};

/// For a remedy: how to raise a timeout that was too short. Names the place that set it.
inline std::string words_of_raising_timeout(bool from_program) {
  return from_program ? "raise the timeout that the program set" : "raise RONDO_TIMEOUT";
}

/// Which rank this process is, by torchrun's, Slurm's or MPI's variables.
struct Placement {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  bool local_known = false;  ///< the launcher said local_rank
  std::string address{};     ///< where rank 0 listens; empty when ranks == 1
  std::uint16_t port = 0;
  std::string source{};  ///< "torchrun", "slurm", "mpi", "none", for logs
};
/// Throws Error{configuration} naming what is missing or contradictory (rank >= world, no address).
/// Asks launchers in this order: RANK and WORLD_SIZE (torchrun, rondorun), mpirun, Slurm, PMI.
Placement read_placement(const Config& config);
Placement read_placement(const Config& config, std::span<const std::string> environment);

/// "a,b" allows only those, "^a,b" all but those. Empty allows everything. Unknown names are an
/// Error{configuration} that lists `known`; `what` names the setting in it.
class Selection {
 public:
  Selection() = default;
  Selection(std::string_view text, std::span<const std::string_view> known, std::string_view what);
  bool allows(std::string_view name) const;
  /// True when it names what is not allowed.
  bool excludes() const { return excluding_; }
  /// True when exactly one name is allowed.
  bool forces() const { return !excluding_ && names_.size() == 1; }
  /// True when anything was said at all.
  bool restricts() const { return !names_.empty(); }

 private:
  bool excluding_ = false;
  std::vector<std::string> names_;
};

}  // namespace rondo
