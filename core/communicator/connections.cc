#include "core/communicator/connections.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "core/base/log.h"
#include "core/base/numa.h"
#include "core/base/text.h"
#include "core/control/exchange_values.h"
#include "core/plan/cut.h"
#include "core/plan/shared.h"
#include "core/topology/measured_costs.h"
#include "core/topology/ports.h"
#include "transports/table.h"

namespace rondo::detail {
namespace {

constexpr std::size_t alone_frame_bytes = std::size_t{1} << 20;  ///< where there are no channels

/// What a rank tells the others of its transports.
struct Reach {
  std::vector<std::string> addresses{};  ///< by kind; empty where it does not use it
  bool has_network = false;
  std::int32_t short_frames = 1;  ///< that each of its channels holds
  std::vector<Port> ports{};      ///< its own first
  std::int32_t socket = -1;       ///< -1: it may run on several
  std::uint64_t frame_bytes = 0;  ///< its least slot

  static void fields(auto& self, auto& archive) {
    archive(self.addresses, self.has_network, self.short_frames, self.ports, self.socket,
            self.frame_bytes);
  }
};

std::size_t kind_index(const Transport& transport) {
  const auto kinds = transport_kinds();
  const auto same = [&](const TransportKind& kind) { return kind.name == transport.name(); };
  return static_cast<std::size_t>(std::find_if(kinds.begin(), kinds.end(), same) - kinds.begin());
}

/// Throws where a rank says what none can mean.
void check(const Reach& reach, std::size_t kinds, int rank) {
  if (reach.addresses.size() == kinds && reach.short_frames >= 1 && reach.frame_bytes >= 1) return;
  throw Error(ErrorCode::mismatch,
              "rank " + std::to_string(rank) + " has other transports than this rank knows",
              {.peer = rank, .remedy = "use the same version of rondo on every rank"});
}

}  // namespace

Connections::Connections(const Membership& membership, const Config& config,
                         const std::shared_ptr<ControlChannel>& control)
    : rank_(membership.rank), by_peer_(membership.members.size()) {
  pick_transports(membership, config);
  connect(control);
  set_costs(costs_of(config.link_costs), topology_);
  connect_direct(config, control);
}

void Connections::pick_transports(const Membership& membership, const Config& config) {
  const Selection selection(config.transport, transport_names(), "RONDO_TRANSPORT");
  const std::vector<HostInfo> hosts = membership.hosts();
  const HostInfo& here = hosts[static_cast<std::size_t>(rank_)];
  std::map<std::string, int> numbers;
  for (const HostInfo& host : hosts)
    topology_.host.push_back(
        numbers.try_emplace(host.host, static_cast<int>(numbers.size())).first->second);
  topology_.one_machine = numbers.size() == 1;
  topology_.ranks = membership.size();
  std::map<const TransportKind*, Transport*> made;
  for (int peer = 0; peer < membership.size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == rank_) continue;
    std::string obstacles;
    const TransportKind* kind = best_transport(selection, here, hosts[at], obstacles);
    if (kind == nullptr) {
      throw Error(ErrorCode::configuration, "no transport reaches the peer (" + obstacles + ")",
                  {.rank = rank_, .peer = peer, .remedy = "allow another one in RONDO_TRANSPORT"});
    }
    Transport*& transport = made[kind];
    if (transport == nullptr) transport = make_transport(*kind, membership, config);
    by_peer_[at] = transport;
  }
  // Peers in memory must be heard beside sockets.
  const std::size_t networks = count_networks();
  if (networks > 0 && networks < transports_.size()) doorbell_.make_pollable();
}

std::size_t Connections::count_networks() const {
  return static_cast<std::size_t>(std::ranges::count_if(transports_, [](const auto& transport) {
    return transport->link_class() == LinkClass::network;
  }));
}

void Connections::expect_threads() {
  if (!transports_.empty() && count_networks() == transports_.size()) doorbell_.make_pollable();
}

Transport* Connections::make_transport(const TransportKind& kind, const Membership& membership,
                                       const Config& config) {
  const Hosts hosts(topology_);
  const TransportSettings settings{.rank = rank_,
                                   .ranks = membership.size(),
                                   .on_host = hosts.largest(),
                                   .index_on_host = hosts.index_of(rank_),
                                   .communicator = membership.number,
                                   .secret = membership.world->secret(),
                                   .slot_bytes = config.slot_bytes,
                                   .sockets = config.sockets,
                                   .checksum = config.checksum,
                                   .timeout = config.timeout,
                                   .interface = config.interface,
                                   .family = config.family,
                                   .infiniband = config.infiniband,
                                   .doorbell = &doorbell_,
                                   .local = membership.local};
  transports_.push_back(kind.make(settings));
  return transports_.back().get();
}

void Connections::connect(const std::shared_ptr<ControlChannel>& control) {
  const auto kinds = transport_kinds();
  Reach mine{.addresses = std::vector<std::string>(kinds.size())};
  frame_bytes_ = alone_frame_bytes;
  topology_.short_frames = std::numeric_limits<int>::max();
  for (const auto& transport : transports_) {
    std::ranges::copy(transport->ports(), std::back_inserter(mine.ports));
    mine.addresses[kind_index(*transport)] = transport->address();
    frame_bytes_ = std::min(frame_bytes_, transport->slot_bytes());
    topology_.short_frames =
        std::min(topology_.short_frames, transport->depth_of(shortest_frame_bytes));
    if (transport->link_class() == LinkClass::network) topology_.links = LinkClass::network;
  }
  mine.has_network = topology_.links == LinkClass::network;
  mine.short_frames = topology_.short_frames;
  mine.socket = process_numa_node();
  mine.frame_bytes = frame_bytes_;
  const std::vector<Reach> all = exchange_values(control, mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    check(all[rank], kinds.size(), static_cast<int>(rank));
  for (const auto& transport : transports_) {
    std::vector<std::string> addresses;
    for (const auto& of_rank : all) addresses.push_back(of_rank.addresses[kind_index(*transport)]);
    transport->meet(std::move(addresses));
  }
  // One slow link, small slot or shallow channel anywhere decides for all: every rank must choose
  // and cut alike.
  topology_.hosts.resize(1 + static_cast<std::size_t>(*std::ranges::max_element(topology_.host)));
  const auto host_of = [&](std::size_t rank) -> Host& {
    return topology_.hosts[static_cast<std::size_t>(topology_.host[rank])];
  };
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].has_network) topology_.links = LinkClass::network;
    topology_.short_frames = std::min(topology_.short_frames, all[rank].short_frames);
    add_ports(all[rank].ports, host_of(rank));
    topology_.socket.push_back(all[rank].socket);
    frame_bytes_ = std::min<std::size_t>(frame_bytes_, all[rank].frame_bytes);
  }
  // By name, so that ports of the same name have the same number on all hosts.
  for (Host& host : topology_.hosts) std::ranges::sort(host.ports, {}, &Port::name);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    topology_.port.push_back(own_port(all[rank].ports, host_of(rank)));
}

void Connections::connect_direct(const Config& config,
                                 const std::shared_ptr<ControlChannel>& control) {
  const int ranks = topology_.ranks;
  // What is read from a peer's memory bears no checksum.
  const bool may_read = !config.checksum && ranks > 1 && ranks <= most_sharing_ranks;
  DirectAccess* const access =
      may_read && transports_.size() == 1 ? transports_.front()->direct_access() : nullptr;
  const std::vector<std::string> all = control->exchange(access == nullptr ? "none" : "mapped");
  topology_.direct = std::ranges::count(all, "none") == 0;
  if (topology_.direct) direct_ = access;
}

std::string Connections::names() const {
  std::string over;
  for (const auto& transport : transports_)
    over += (over.empty() ? "" : "+") + std::string(transport->name());
  return over;
}

bool Connections::looks_are_system_calls() const {
  return std::ranges::any_of(
      transports_, [](const auto& transport) { return transport->looks_are_system_calls(); });
}

void Connections::log() const {
  if (!log_enabled(LogLevel::info)) return;
  std::string text = "a communicator of " + std::to_string(by_peer_.size()) + " ranks";
  for (const auto& transport : transports_) {
    std::vector<int> peers;
    for (std::size_t peer = 0; peer < by_peer_.size(); ++peer) {
      if (by_peer_[peer] == transport.get()) peers.push_back(static_cast<int>(peer));
    }
    text += "; " + std::string(transport->name()) + " to " + rank_list(peers);
  }
  const Hosts hosts(topology_);
  const std::size_t sockets = hosts.sockets(hosts.host_of(rank_)).size();
  if (sockets > 1) text += "; ranks of this host on " + std::to_string(sockets) + " sockets";
  rondo::log(LogLevel::info, rank_, text, LogSubsystem::init);
}

}  // namespace rondo::detail
