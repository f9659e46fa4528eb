#include "tools/rondo/why/facts.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "core/plan/cut.h"
#include "core/topology/measured_costs.h"
#include "core/transport/doorbell.h"
#include "core/transport/local_exchange.h"
#include "rondo/error.h"
#include "transports/table.h"

namespace rondo::tool::why {
namespace {

constexpr std::size_t alone_frame_bytes = std::size_t{1} << 20;

/// A peer of this process: another process here, or one on a machine like this.
HostInfo peer_of(const HostInfo& here, bool threads, bool apart) {
  HostInfo there = here;
  if (!threads) there.process = here.process + 1;
  if (apart) there.host += " (another one)";
  return there;
}

/// A topology's file has the ports of all transports, but a job counts those of one.
void keep_ports(bool rdma, std::vector<Host>& hosts) {
  const auto serves = [&](const Port& port) { return port.rdma == rdma; };
  for (Host& host : hosts)
    if (std::ranges::any_of(host.ports, serves))
      std::erase_if(host.ports, [&](const Port& port) { return !serves(port); });
}

/// What a transport to such a peer adds to the facts.
void add_transport(const Config& config, bool apart, Facts& facts) {
  const Selection selection(config.transport, transport_names(), "RONDO_TRANSPORT");
  const HostInfo here = describe_host(config);
  // Ranks are threads of one process only where nothing but "local" is wanted.
  const HostInfo there = peer_of(here, config.transport == "local" && !apart, apart);
  const TransportKind* kind = best_transport(selection, here, there, facts.passed_over);
  if (kind == nullptr)
    throw Error(ErrorCode::configuration,
                "no transport reaches the peer (" + facts.passed_over + ")",
                {.remedy = "allow another one"});
  Doorbell doorbell;
  const std::unique_ptr<Transport> transport =
      kind->make({.ranks = facts.around.ranks,
                  .on_host = Hosts(facts.around).largest(),
                  .slot_bytes = config.slot_bytes,
                  .sockets = config.sockets,
                  .timeout = config.timeout,
                  .interface = config.interface,
                  .family = config.family,
                  .infiniband = config.infiniband,
                  .doorbell = &doorbell,
                  .local = std::make_shared<LocalExchange>()});
  facts.transport += (facts.transport.empty() ? "" : "+") + std::string(kind->name);
  facts.frame_bytes = std::min(facts.frame_bytes, transport->slot_bytes());
  if (transport->link_class() == LinkClass::network) facts.around.links = LinkClass::network;
  if (apart && facts.around.hosts.empty())
    facts.around.hosts.assign(static_cast<std::size_t>(Hosts(facts.around).count()),
                              {.ports = transport->ports()});
  if (apart) keep_ports(kind->name == "verbs", facts.around.hosts);
  facts.around.short_frames =
      std::min(facts.around.short_frames, transport->depth_of(shortest_frame_bytes));
  facts.reaches_memory = transport->direct_access() != nullptr;
}

}  // namespace

Facts facts_here(const Config& config, const Topology& around) {
  Facts facts{.around = around, .frame_bytes = alone_frame_bytes};
  if (around.ranks == 1) return facts;
  const Hosts hosts(around);
  facts.around.links = LinkClass::memory;
  facts.around.short_frames = std::numeric_limits<int>::max();
  if (hosts.largest() > 1) add_transport(config, false, facts);
  if (hosts.count() > 1) {
    facts.passed_over.clear();  // what does not reach a peer of the host reaches no other one
    add_transport(config, true, facts);
  }
  set_costs(costs_of(config.link_costs), facts.around);
  if (!config.transport.empty()) facts.passed_over.clear();  // the user has asked for it
  facts.reaches_memory = facts.reaches_memory && hosts.count() == 1;
  facts.checksum = config.checksum;
  facts.around.direct =
      around.ranks <= most_sharing_ranks && facts.reaches_memory && !facts.checksum;
  return facts;
}

}  // namespace rondo::tool::why
