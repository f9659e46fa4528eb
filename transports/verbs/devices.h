// Discovery: the RDMA devices of this machine, their ports, and which of them rondo uses.
//
// Works in every build. Without libibverbs's headers at build time, without the library, without
// devices or without permission the discovery is empty and says why. Only open() throws for want of
// any of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/topology/topology.h"
#include "transports/verbs/addresses.h"
#include "transports/verbs/settings.h"

struct ibv_context;

namespace rondo::verbs {

/// ibv_port_state's values.
enum class PortState : std::uint8_t { nop, down, initialize, armed, active, active_defer };
std::string_view name(PortState state);  ///< "active", "down", ...

/// One port as it was when it was looked at. Value type.
struct Port {
  std::string device{};    ///< "mlx5_0"
  std::uint64_t guid = 0;  ///< of the device, host order; the same seen from every container
  int port = 0;            ///< from 1; 0: the device could not be opened, `trouble` says why
  PortState state = PortState::nop;
  LinkLayer layer = LinkLayer::unknown;
  bool infiniband_transport = true;  ///< RoCE included; iWARP, EFA and usNIC are not supported
  double speed = 0;                  ///< Gbit/s of all lanes, as links are named: 100 for EDR x4
  int mtu = 0;                       ///< active, bytes: 256 to 4096
  std::uint16_t lid = 0;             ///< 0 on Ethernet
  int pkeys = 0;                     ///< length of the table that RONDO_IB_PKEY indexes
  std::uint32_t max_message = 0;     ///< bytes of one work request
  int numa_node = -1;                ///< -1: unknown or not bound to one
  std::vector<Gid> gids{};           ///< those that are not empty, by index
  std::string trouble{};             ///< a verb that failed while looking, in words
};

/// As topologies have it.
rondo::Port in_topology(const Port& port);

/// What there is. `obstacle` is empty exactly when `ports` is not. It says in one line what is
/// missing. `remedy` says what to install, load or pass to a container.
struct Discovery {
  std::vector<Port> ports{};  ///< by device name, then port
  std::string obstacle{};
  std::string remedy{};
};

/// Looks again at each call and opens every device, which takes milliseconds each. Thread-safe.
Discovery discover();

/// Empty when rondo would use this port; otherwise why not: disabled, excluded by RONDO_IB_HCA,
/// not active, another transport, no LID, no fitting GID, no such partition key.
std::string why_not(const Port& port, const Settings& settings);

/// True when the port is on the process's NUMA node, where both are known.
bool is_near(const Port& port, const Settings& settings);

/// Ports without a why_not(): the fastest first. Among equals the near ones come first, then the
/// order is by name and number. Empty where there is none.
std::vector<Port> usable_ports(const Settings& settings);
std::vector<Port> usable_ports(const std::vector<Port>& ports, const Settings& settings);
/// Why usable_ports() is empty: the obstacle, or every port with its why_not(). For obstacle texts
/// and errors. Empty where there are usable ports.
std::string why_none(const Discovery& discovery, const Settings& settings);

/// Closes through the loaded table. Whatever was made from a context must go before it.
struct CloseContext {
  void operator()(ibv_context* context) const noexcept;
};
using Context = std::unique_ptr<ibv_context, CloseContext>;

/// Opens the port's device; several contexts of one device may be open. Throws
/// Error{configuration} when the device or the library is gone, Error{system} when opening fails.
/// Thread-safe. async_fd and the like are the caller's to make non-blocking.
Context open(const Port& port);

}  // namespace rondo::verbs
