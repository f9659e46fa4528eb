// Where a rank runs, as far as the choice of a transport needs to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// Exchanged among all ranks by the bootstrap. Ranks on one machine have equal `host`.
struct HostInfo {
  std::string host{};         ///< RONDO_HOSTID, else kernel boot id plus network namespace
  std::string hostname{};     ///< for people
  std::uint64_t process = 0;  ///< pid together with its start time: equal only in one process
  int pid = 0;
  /// Ports that the verbs transport may use, in its own words; empty: none.
  std::string rdma{};
  std::string no_rdma{};  ///< why there is none, for people
  friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

/// Whether both are one process, whatever each of them knows of transports.
inline bool same_process(const HostInfo& one, const HostInfo& other) {
  return one.process == other.process && one.hostname == other.hostname;
}

/// This process's own, but for what only transports know (see transports/table.h). `host_id`
/// overrides `host` when not empty.
HostInfo this_host(std::string_view host_id);

}  // namespace rondo
