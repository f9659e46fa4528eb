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
#include "core/plan/ragged.h"
#include "core/plan/shared.h"
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
  std::shared_ptr<SharedPlans> shared{};  ///< of the same collective and root; null: none
};

/// How messages are cut so that each is one frame (see program.h).
struct Slicing {
  std::size_t slice = 0;  ///< elements of each chunk that one pass moves, at most
  std::uint64_t passes = 1;
  std::uint32_t interleaved = 1;  ///< passes that go side by side (see program.h)

  /// Passes, with empty ones appended so that all are interleaved.
  std::uint64_t rounded_passes() const {
    return (passes + interleaved - 1) / interleaved * interleaved;
  }
};

/// An op of a call of one pass with its places worked out, for calls that latency decides.
struct ShortOp {
  struct Place {
    std::int32_t peer = -1;  ///< >= 0: the next message from this rank
    Buffer buffer = Buffer::input;
    std::size_t offset = 0;  ///< bytes from the caller's buffer, or from the scratch memory
  };
  std::size_t elements = 0;
  std::size_t bytes = 0;
  std::uint32_t first_source = 0;  ///< into PreparedCall::short_sources
  std::uint32_t sources = 0;       ///< 0: there is nothing to do
  std::int32_t out_peer = -1;
  std::uint16_t lane = 0;
  bool writes = false;
  Place into{};
  std::uint64_t fingerprint = 0;  ///< of a message by itself; 0: the call's
};

struct PreparedCall {
  std::shared_ptr<const Plan> plan{};  ///< null: short_ops are all there is, in any order
  Call call{};                         ///< sequence 0; its own operator is the next field
  std::optional<Operator> own{};
  std::uint64_t fingerprint_base = 0;  ///< the call's
  std::vector<std::size_t> counts{};   ///< of the blocks, where they differ; else empty
  std::size_t element_bytes = 1;
  std::vector<std::size_t> offsets{};  ///< first element of each chunk; one more entry for the end
  Slicing slicing{};
  std::vector<std::size_t> op_bytes{};  ///< one pass: bytes each op of the program moves
  /// The ops of a call of one pass, if each of them is a single piece of memory; else empty.
  std::vector<ShortOp> short_ops{};
  std::vector<ShortOp::Place> short_sources{};
  std::size_t input_begin = 0;  ///< first element that the user's input holds
  std::size_t output_begin = 0;
  std::size_t input_elements = 0;   ///< held by the user's input on this rank
  std::size_t output_elements = 0;  ///< and by its output
  std::size_t scratch_slot_bytes = 0;
  std::size_t scratch_bytes = 0;               ///< all slots together, of all interleaved passes
  bool streaming = false;                      ///< by messages: results go past the caches
  bool tokens = false;                         ///< empty messages travel too: barrier
  double scale = 1.0;                          ///< floats under avg: factor of every input element
  double sum_scale = 1.0;                      ///< or of every sum, where ranks have an order
  std::size_t divisor = 1;                     ///< integers under avg: of every output element
  std::string reason{};                        ///< why this algorithm, for people
  std::shared_ptr<const SharedCall> shared{};  ///< null: by messages

  int chunks() const { return plan->schedule.layout.chunks(); }
  std::uint32_t ops() const {
    return static_cast<std::uint32_t>(plan == nullptr ? short_ops.size()
                                                      : plan->program.ops.size());
  }
  /// Ops of all passes.
  std::uint64_t instances() const { return slicing.rounded_passes() * ops(); }
  /// Bytes of the results of all ranks together, where they are alike.
  std::size_t results_bytes() const {
    return output_elements * element_bytes * static_cast<std::size_t>(plan->schedule.ranks);
  }
};

/// Pure. `plan` must be of call.collective; the call and its counts as of shape().
/// Scratch needs no limit of its own: a slot of it holds at most a frame for each chunk.
std::shared_ptr<PreparedCall> prepare(std::shared_ptr<const Plan> plan, const Call& call, int rank,
                                      const Cut& cut, std::string reason, Counts counts = {});

}  // namespace rondo
