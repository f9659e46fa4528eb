// Calls whose ranks share memory: an algorithm, merged (merge.h), and the sizes of one call.
//
//   copies    Every rank copies its input to a control block, where the others read it: in passes,
//             where it does not fit.
//   buffers   Ranks read and write each other's buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/control/call.h"
#include "core/plan/merge.h"
#include "core/plan/ragged.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Which algorithm, and where its places lie. In buffers: if all memory is in windows; else the call
/// goes by messages.
struct SharedChoice {
  std::string_view algorithm{};  ///< of no account where a user wrote it
  Places places = Places::buffers;
};

/// Most ranks that share a control block: sets of them are words with a bit for each rank.
inline constexpr int most_sharing_ranks = 64;

/// How many bytes a rank can show in the control block in one pass.
constexpr std::size_t stage_bytes(int ranks) {
  constexpr std::size_t most = std::size_t{256} << 10;
  constexpr std::size_t all_ranks = std::size_t{2} << 20;
  return std::min(most, all_ranks / static_cast<std::size_t>(ranks) / 4096 * 4096);
}

/// One rank's merged program. Calls of every size share it.
struct SharedPlan {
  std::string algorithm{};
  Posted posted = Posted::none;
  Layout layout{};
  Program program{};
};

/// The merged programs of one collective and root, each made when first wanted. Not thread-safe.
class SharedPlans {
 public:
  SharedPlans(Collective collective, int ranks, int root, int rank)
      : collective_(collective), ranks_(ranks), root_(root), rank_(rank) {}
  /// Of a schedule that a user wrote, which is right, for one rank.
  SharedPlans(Schedule written, int rank)
      : collective_(written.collective),
        ranks_(written.ranks),
        root_(written.root),
        rank_(rank),
        written_(std::move(written)) {}

  /// The algorithm must be one of the collective's whose messages can be places. Throws
  /// Error{internal} where it is not. Of a written schedule: null where its messages cannot, where calls
  /// in shared memory do not do what it does, or where that would take longer than messages.
  std::shared_ptr<const SharedPlan> of(std::string_view algorithm, const Sharing& sharing);
  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

 private:
  using Key = std::pair<std::string, Sharing>;

  Schedule schedule_of(std::string_view algorithm) const;

  Collective collective_;
  int ranks_;
  int root_;
  int rank_;
  std::optional<Schedule> written_{};
  std::vector<std::pair<Key, std::shared_ptr<const SharedPlan>>> plans_{};
};

/// What a rank counts as sent where nothing is sent, see rondo/traffic.h: what peers read of its
/// memory, and what it stores to theirs.
struct Given {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// How a program makes its results, for traces.
enum class SharedForm : std::uint8_t { one_stage, two_stages, posted };

/// A merged program with element counts. Positions are elements of the index space.
struct SharedPart {
  std::shared_ptr<const SharedPlan> plan{};
  std::size_t element_bytes = 1;
  std::vector<std::size_t> offsets{};  ///< first element of each chunk; one more entry for the end
  struct Held {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint32_t first_chunk = 0;
    std::uint32_t chunks = 0;
  };
  std::vector<Held> inputs{};  ///< by rank: what its buffer holds
  std::vector<Held> outputs{};
  /// Ranks whose memory each stage touches: those with which there is nothing to exchange are left
  /// out. Both sides know it by the counts.
  std::vector<std::vector<std::int32_t>> touched{};
  std::vector<std::int32_t> awaited{};  ///< the ranks of all stages
  std::vector<std::int32_t> users{};    ///< ranks that touch this rank's memory
  std::uint64_t user_bits = 0;          ///< the same, a bit each
  Given given{};
  std::size_t slice = 0;  ///< elements of each chunk that one pass moves, at most
  std::size_t passes = 1;

  const Program& program() const { return plan->program; }
  int stages() const { return plan->program.stages; }
  /// Ranks read what others have made.
  bool shows_results() const { return stages() > 1; }
  /// Ranks touch others' outputs, not only inputs.
  bool reaches_outputs() const { return shows_results() || plan->posted != Posted::none; }
  SharedForm form() const {
    if (plan->posted != Posted::none) return SharedForm::posted;
    return stages() > 1 ? SharedForm::two_stages : SharedForm::one_stage;
  }
  std::size_t begin(const Chunk& run) const { return offsets[run.first]; }
  std::size_t elements(const Chunk& run) const {
    return offsets[run.first + run.count] - offsets[run.first];
  }
  /// Elements of the run in one pass. More passes than one: of single chunks.
  std::size_t elements(const Chunk& run, std::size_t pass) const {
    const std::size_t all = elements(run);
    return passes == 1 ? all : std::min(all - std::min(all, pass * slice), slice);
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

/// A call in shared memory.
struct SharedCall {
  /// An op of a program of one stage and pass over copies with its places worked out: nothing is
  /// left to compute when latency decides.
  struct ShownOp {
    struct Source {
      static constexpr std::int32_t own_output = -1;  ///< what an op before has made
      std::int32_t rank = 0;
      std::size_t bytes = 0;  ///< from what that rank shows, or the caller's output
    };
    std::size_t output = 0;  ///< bytes from the caller's output
    std::size_t count = 0;   ///< elements
    std::vector<Source> sources{};
  };

  Places places = Places::copies;  ///< the choice's
  bool offers_windows = false;     ///< copies: but where all memory is in windows, none are made
  SharedPart ordinary{};
  SharedPart windows{};         ///< where all memory is in windows
  std::vector<ShownOp> ops{};   ///< of `ordinary`, in copies and of one stage
  std::size_t shown_bytes = 0;  ///< of this rank's input
  bool alone = false;           ///< ordinary: no rank touches this one's memory, nor it theirs
};

/// `plans` must be those of call.collective and call.root. Null: of() is, for what the choice needs.
std::shared_ptr<SharedCall> prepare_shared(const SharedChoice& choice, const Call& call,
                                           SharedPlans& plans, Counts counts = {});

}  // namespace rondo
