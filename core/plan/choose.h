// Choice: which algorithm a call uses. A pure function of what all ranks share, so no message is
// needed to agree: rank 0's settings are distributed when a communicator is made.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "algorithms/table.h"
#include "core/base/config.h"
#include "core/transport/transport.h"

namespace rondo {

/// RONDO_ALGORITHM: "ring" or "^ring,chain" for every collective that knows a named algorithm,
/// "all_reduce:ring;broadcast:^chain" for the named collectives. Value type.
class AlgorithmSelection {
 public:
  AlgorithmSelection() = default;
  /// Throws Error{configuration} that names the setting and lists what is known.
  AlgorithmSelection(std::string_view text, std::string_view what);
  bool allows(Collective collective, std::string_view name) const;
  bool restricts(Collective collective) const;

 private:
  std::array<Selection, collectives.size()> by_collective_{};
};

struct Choice {
  const Algorithm* algorithm = nullptr;
  std::string reason{};
};

/// `bytes`: size of the call's index space (all blocks of a block collective). Throws
/// Error{configuration} when the selection leaves no algorithm for the collective.
Choice choose(Collective collective, std::size_t bytes, int ranks, LinkClass links,
              const AlgorithmSelection& selection);

}  // namespace rondo
