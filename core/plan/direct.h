// Direct plans: a collective as reads and writes of the ranks' own memory, without messages.
//
//   one_shot   every rank makes what its output holds          reads: everyone's input
//              from all inputs
//   two_shot   rank r makes chunk r from all inputs, then      reads: inputs, then results
//              everyone reads the others' chunks
//   push       rank r makes chunk r from all inputs and        reads: inputs, writes: outputs
//              writes it into everyone's output
//
// They are derived from what the collective promises (expected() in core/schedule/collective.h), so
// no algorithm is written twice: a plan is the schedule of the same name merged across ranks.
//
// Cost of all_reduce      synchronisations   read per rank   written per rank
//   one_shot              1                  P N             N
//   two_shot              3                  2 N             N
//   push                  2                  N               N
// (In exposed memory. Staged copies read and write N more, and staged one_shot need not wait at the
// end.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/schedule/layout.h"
#include "rondo/types.h"

namespace rondo {

enum class DirectMode : std::uint8_t { one_shot, two_shot, push };

/// Which form of the direct path a call takes.
struct DirectChoice {
  bool staged = false;  ///< through copies in the control block; else in the callers' own memory
  DirectMode mode = DirectMode::one_shot;  ///< of staged calls and of ordinary memory
};

/// Most ranks that share a control block: sets of them are words with a bit for each rank.
inline constexpr int most_direct_ranks = 64;

/// How many bytes a rank can show in the control block in one call.
constexpr std::size_t stage_bytes(int ranks) {
  constexpr std::size_t most = std::size_t{256} << 10;
  constexpr std::size_t all_ranks = std::size_t{2} << 20;
  return std::min(most, all_ranks / static_cast<std::size_t>(ranks) / 4096 * 4096);
}

/// One value that this rank makes. Chunk numbers are the layout's.
struct Move {
  static constexpr std::int32_t everyone = -1;

  std::int32_t chunk = 0;            ///< where it lies in the outputs
  std::int32_t source_chunk = 0;     ///< where its operands lie in their buffer
  std::int32_t from = everyone;      ///< the one rank it is copied from; everyone: reduced
  std::vector<std::int32_t> into{};  ///< the ranks whose outputs take it from this rank
  bool shown = false;                ///< other ranks read it in the second round
};

/// One rank's part. Round 0 reads inputs, round 1 reads what other ranks made in round 0.
struct DirectPlan {
  DirectMode mode = DirectMode::one_shot;
  Layout layout{};
  std::array<std::vector<Move>, 2> rounds{};
  std::array<std::vector<std::int32_t>, 2> touches{};  ///< ranks whose memory each round touches
  std::vector<std::int32_t> users{};  ///< ranks that touch this rank's memory, in either round
  /// Chunks that leave this rank, once for each peer that takes one: read by it, or stored there.
  std::vector<std::int32_t> given{};

  /// Whether ranks touch others' outputs, not only inputs.
  bool touches_outputs() const { return mode != DirectMode::one_shot; }
};

/// Pure; O(ranks x chunks): what peers do is looked at only where it touches this rank. Not for
/// send_recv.
DirectPlan plan_direct(Collective collective, DirectMode mode, int ranks, int root, int rank);

/// The direct plans of one collective and root, for calls of every count: each made when first
/// wanted. Not thread-safe.
class DirectPlans {
 public:
  DirectPlans(Collective collective, int ranks, int root, int rank)
      : collective_(collective), ranks_(ranks), root_(root), rank_(rank) {}

  const DirectPlan& of(DirectMode mode);
  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

 private:
  Collective collective_;
  int ranks_;
  int root_;
  int rank_;
  std::array<std::optional<DirectPlan>, 3> plans_{};  ///< by mode
};

}  // namespace rondo
