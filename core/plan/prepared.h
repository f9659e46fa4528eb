// PreparedCall: everything about a call that does not change from one time to the next.
// Made once per (collective, count, type, operator, root), then looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/control/call.h"
#include "core/plan/cut.h"
#include "core/plan/direct.h"
#include "core/plan/ragged.h"
#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// A schedule and this rank's part of it, lowered. Shared by all calls with the same algorithm and
/// root.
struct Plan {
  Schedule schedule{};
  Program program{};
  int longest = 1;  ///< most chunks in one message, on any rank
  Flow flow = Flow::exchange;
  std::shared_ptr<DirectPlans> direct{};  ///< of the same collective; null where it has none
};

/// How messages are cut so that each is one frame (see program.h).
struct Slicing {
  std::size_t slice = 0;  ///< elements of each chunk that one pass moves, at most
  std::uint64_t passes = 1;
  std::uint32_t abreast = 1;  ///< passes that go side by side (see program.h)

  /// Passes, with empty ones appended so that all are interleaved.
  std::uint64_t rounded_passes() const { return (passes + abreast - 1) / abreast * abreast; }
};

/// What a direct call of this rank counts as sent, see rondo/traffic.h.
struct Given {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// The direct path of a call, where its ranks reach each other's memory.
struct DirectCall {
  /// A plan with element counts. Positions are elements of the index space.
  struct Part {
    DirectPlan plan{};
    std::size_t element_bytes = 1;
    std::vector<std::size_t>
        offsets{};  ///< first element of each chunk; one more entry for the end
    struct Held {
      std::size_t begin = 0;
      std::size_t end = 0;
    };
    std::vector<Held> inputs{};  ///< by rank: what its buffer holds
    std::vector<Held> outputs{};
    std::uint64_t users = 0;  ///< the plan's, a bit each
    Given given{};            ///< the plan's, in all

    std::size_t elements(std::int32_t chunk) const {
      const auto at = static_cast<std::size_t>(chunk);
      return offsets[at + 1] - offsets[at];
    }
    const Held& input(int rank) const { return inputs[static_cast<std::size_t>(rank)]; }
    const Held& output(int rank) const { return outputs[static_cast<std::size_t>(rank)]; }
    std::size_t input_bytes(int rank) const {
      return (input(rank).end - input(rank).begin) * element_bytes;
    }
    std::size_t output_bytes(int rank) const {
      return (output(rank).end - output(rank).begin) * element_bytes;
    }
    /// Bytes of the index space.
    std::size_t bytes() const { return offsets.back() * element_bytes; }
  };

  /// A move of a staged one_shot call with its places worked out: nothing is left to compute when
  /// latency decides.
  struct ShownMove {
    std::size_t output = 0;  ///< bytes from the caller's output
    std::size_t count = 0;   ///< elements
    std::int32_t from = Move::everyone;
    std::vector<std::size_t> sources{};  ///< by rank: bytes from what that rank shows
  };

  bool staged = false;  ///< inputs are shown in the control block; else the buffers are exposed
  bool offers_windows = false;  ///< staged: but what lies in windows is exposed instead
  Part ordinary_memory{};       ///< staged calls', and exposed ones' where some memory is no window
  Part windows{};               ///< all memory lies in windows
  std::vector<ShownMove> shown{};  ///< staged one_shot: the moves of round 0
  std::size_t shown_bytes = 0;     ///< of this rank's input
  bool alone = false;     ///< staged one_shot: no rank takes this rank's input, nor it theirs
  bool copies = false;    ///< exposed ordinary memory is copied by the kernel; else by messages
  bool measured = false;  ///< by messages where those have been faster (core/execute/contest.h)
};

struct PreparedCall {
  std::shared_ptr<const Plan> plan{};
  Call call{};                         ///< sequence 0
  std::uint64_t fingerprint_base = 0;  ///< the call's
  std::vector<std::size_t> counts{};   ///< of the blocks, where they differ; else empty
  std::size_t element_bytes = 1;
  std::vector<std::size_t> offsets{};  ///< first element of each chunk; one more entry for the end
  Slicing slicing{};
  std::vector<std::size_t> op_bytes{};  ///< one pass: bytes each op of the program moves
  std::size_t input_begin = 0;          ///< first element that the user's input holds
  std::size_t output_begin = 0;
  std::size_t input_elements = 0;              ///< held by the user's input on this rank
  std::size_t output_elements = 0;             ///< and by its output
  std::size_t scratch_bytes = 0;               ///< all slots together, of all interleaved passes
  bool streaming = false;                      ///< by messages: results go past the caches
  bool tokens = false;                         ///< empty messages travel too: barrier
  double scale = 1.0;                          ///< floats under avg: factor of every input element
  double sum_scale = 1.0;                      ///< or of every sum, where ranks have an order
  std::size_t divisor = 1;                     ///< integers under avg: of every output element
  std::string reason{};                        ///< why this algorithm, for people
  std::shared_ptr<const DirectCall> direct{};  ///< null: by messages

  int chunks() const { return plan->schedule.layout.chunks(); }
  /// Ops of all passes.
  std::uint64_t instances() const { return slicing.rounded_passes() * plan->program.ops.size(); }
  /// Bytes of the results of all ranks together, where they are alike.
  std::size_t results_bytes() const {
    return output_elements * element_bytes * static_cast<std::size_t>(plan->schedule.ranks);
  }
};

/// Pure. `plan` must be of call.collective; the call and its counts as of shape().
/// Scratch needs no limit of its own: a slot of it holds at most a frame for each chunk.
std::shared_ptr<PreparedCall> prepare(std::shared_ptr<const Plan> plan, const Call& call, int rank,
                                      const Cut& cut, std::string reason, Counts counts = {});

/// The direct path of the same call: a plan that all counts share, and this count's offsets.
/// `plans` must be those of call.collective and call.root. The caller sets whether copies serve,
/// and whether times decide.
std::shared_ptr<DirectCall> prepare_direct(const DirectChoice& choice, const Call& call,
                                           DirectPlans& plans, Counts counts = {});

}  // namespace rondo
