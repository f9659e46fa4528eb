// Choice: which algorithm a call uses. It is a pure function of what all ranks share, so the ranks
// agree without a message: rank 0's settings are distributed when a communicator is made.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/composition.h"
#include "core/base/config.h"
#include "core/plan/shared.h"
#include "core/topology/topology.h"

namespace rondo {

/// Schedules that users wrote, in the order in which they are asked.
using Scripts = std::vector<Script>;

/// Throws Error{configuration} that names the text: what is wrong in it, or why it cannot serve calls.
Scripts parse_scripts(const std::vector<ScheduleText>& texts);

/// RONDO_ALGORITHM: "ring" or "^ring,chain" for every collective that knows a named algorithm,
/// "all_reduce:ring;broadcast:^chain" for the named collectives. Value type.
class AlgorithmSelection {
 public:
  AlgorithmSelection() = default;
  /// Throws Error{configuration} that names the setting and lists what is known.
  AlgorithmSelection(std::string_view text, std::string_view what, Scripts written = {});
  bool allows(Collective collective, std::string_view name) const;
  bool allows(Collective collective, const Composition& composition) const;
  bool restricts(Collective collective) const;
  bool excludes(Collective collective) const;
  const Scripts& written() const { return written_; }

 private:
  std::array<Selection, collectives.size()> by_collective_{};
  Scripts written_{};
};

/// The name by which the direct path is forced or excluded, beside the algorithms' own.
inline constexpr std::string_view direct_name = "direct";

struct Choice {
  Composition algorithm{};
  std::string reason{};
  std::optional<SharedChoice> shared{};  ///< then `algorithm` is for where that cannot be
};

/// How many bytes a call is about.
struct CallSize {
  std::size_t bytes = 0;          ///< its index space: all blocks of a block collective
  std::size_t largest_block = 0;  ///< where blocks differ; 0: they do not

  explicit(false) CallSize(std::size_t all_bytes) : bytes(all_bytes) {}

  /// One rank has so much more than its share that what it sends to each of the others, or reduces
  /// alone, takes longer than handing everything on from neighbour to neighbour.
  bool is_lopsided(int ranks) const;
};

/// Whether predicted times (estimate.h) decide, and not the table: several ranks of a host share its
/// ports, and its memory is a faster link; or there are more hosts than were measured. Of gathers
/// and scatters no composition was ever faster than what the table has.
bool is_predicted(Collective collective, const Topology& around);

/// The names that RONDO_ALGORITHM knows for a collective.
std::vector<std::string_view> algorithm_names(Collective collective);

/// The schedule that a user wrote for such a call: the first that is for these ranks and that the
/// selection allows. Its `sizes` count unless the selection names it. Empty: there is none.
Composition find_written(Collective collective, const CallSize& size, const Topology& around,
                         const AlgorithmSelection& selection);

/// `rank_order`: why contributions must be combined at once and in the order of ranks, in words;
/// empty: they need not. Throws Error{configuration} when the selection leaves no such algorithm
/// for the collective.
Choice choose(Collective collective, const CallSize& size, const Topology& around,
              const AlgorithmSelection& selection, const std::string& rank_order = {});

}  // namespace rondo
