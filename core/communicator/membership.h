// Membership: which ranks of which world form a communicator, and which of them this is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator/whole.h"
#include "core/transport/local_exchange.h"

namespace rondo::detail {

struct Membership {
  std::shared_ptr<Control> world{};
  std::shared_ptr<LocalExchange> local{};  ///< of ranks that met as threads; null: met as processes
  std::vector<int> members{};              ///< world rank of each rank
  int rank = 0;
  std::uint64_t number = 0;        ///< equal on all members, unique in the world
  std::shared_ptr<Whole> whole{};  ///< what the communicator is a part of; null: of nothing

  int size() const { return static_cast<int>(members.size()); }
  /// Where each member runs.
  std::vector<HostInfo> hosts() const {
    std::vector<HostInfo> hosts;
    for (const int member : members) {
      hosts.push_back(world->hosts()[static_cast<std::size_t>(member)]);
      // Ranks that met as processes share no exchange, even where two of them are one process.
      if (!local) hosts.back().process = hosts.size();
    }
    return hosts;
  }
};

}  // namespace rondo::detail
