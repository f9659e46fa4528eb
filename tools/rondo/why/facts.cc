#include "tools/rondo/why/facts.h"

#include <memory>

#include "core/plan/cut.h"
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

}  // namespace

Facts facts_here(const Config& config, int ranks, bool apart) {
  Facts facts{.around = {.ranks = ranks, .one_machine = !apart}, .frame_bytes = alone_frame_bytes};
  if (ranks == 1) return facts;
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
      kind->make({.ranks = ranks,
                  .slot_bytes = config.slot_bytes,
                  .sockets = config.sockets,
                  .timeout = config.timeout,
                  .interface = config.interface,
                  .family = config.family,
                  .infiniband = config.infiniband,
                  .doorbell = &doorbell,
                  .local = std::make_shared<LocalExchange>()});
  if (!config.transport.empty()) facts.passed_over.clear();  // the user has asked for it
  facts.transport = kind->name;
  facts.frame_bytes = transport->slot_bytes();
  facts.around.links = transport->link_class();
  facts.around.short_frames = transport->depth_of(shortest_frame_bytes);
  facts.reaches_memory = transport->direct_access() != nullptr;
  facts.around.direct = ranks <= most_sharing_ranks && facts.reaches_memory;
  return facts;
}

}  // namespace rondo::tool::why
