#include "tools/rondo/synthesize/network.h"

#include <algorithm>

#include "core/topology/routes.h"

namespace rondo::tool {

/// The routes' links come first, then each rank's memory, out and in.
Network::Network(const Topology& topology) : ranks_(topology.ranks), alphas_(topology.ranks) {
  const Routes routes(topology);
  for (int link = 0; link < routes.links(); ++link) betas_.push_back(routes.beta(link));
  betas_.insert(betas_.end(), 2 * static_cast<std::size_t>(ranks_), topology.memory.beta);
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      crossed_.emplace_back();
      if (from == to) continue;
      const bool inside = routes.same_host(from, to);
      alphas_.at(from, to) = inside ? topology.memory.alpha : routes.network_alpha();
      if (inside)
        crossed_.back() = {routes.links() + 2 * from, routes.links() + 2 * to + 1};
      else
        routes.between(from, to, crossed_.back());
    }
  }
}

double Network::seconds(int from, int to, double bytes) const {
  double slowest = 0;
  for (const int resource : crossed(from, to)) slowest = std::max(slowest, beta(resource));
  return alpha(from, to) + bytes * slowest;
}

}  // namespace rondo::tool
