// What a hierarchical schedule does inside one host, see inside.cc.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/composition.h"
#include "algorithms/embed.h"

namespace rondo {

/// A rank, and the root of its host's part by its place there.
struct InHost {
  const Hosts& hosts;
  int rank = 0;
  int root = 0;
  int most = 1;  ///< chunks in a message
};

/// One rank's steps of a reduce or broadcast of one run of chunks among the ranks of its host; none
/// where it is alone. `part` has no ranks yet. Scratch slots: hosts.largest(), and one more between
/// the levels.
std::vector<Steps> inside_host(Part part, const InHost& at, Collective collective,
                               const Composition& composition);

/// Where its phases go on: "inside hosts", or "inside sockets" and "between sockets", in order.
std::vector<std::string_view> places_inside(const Composition& composition, Collective collective);

}  // namespace rondo
