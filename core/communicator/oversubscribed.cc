#include "core/communicator/oversubscribed.h"

#include <algorithm>
#include <cstddef>

namespace rondo::detail {

bool is_oversubscribed(const std::vector<HostInfo>& hosts, const std::vector<int>& cores,
                       int rank) {
  const auto here = static_cast<std::size_t>(rank);
  int ranks = 0;
  int least = cores[here];
  for (std::size_t member = 0; member < hosts.size(); ++member) {
    if (hosts[member].host != hosts[here].host) continue;
    ++ranks;
    least = std::min(least, cores[member]);
  }
  return ranks > least;
}

}  // namespace rondo::detail
