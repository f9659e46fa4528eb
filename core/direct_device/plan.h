// Plan: what one rank does in a collective between devices. Which bytes does it show to others in
// its half of the staging heap, which of theirs does it read, and what does it reduce? These are
// only numbers: no pointers, no CUDA.
//
// All of it comes from the collective's merged program (core/plan/merge.h), whose ops become:
//
//   {local} -> output                     a copy of the input
//   {place} -> output                     a copy from a peer's half
//   {place, local, place, ...} -> output  a reduction of what lies in all halves, in the own one, too
//   the same, shown                       a reduction in place in the own half, and a copy from there
//   {place} -> output, in stage 1         a copy of what a peer has reduced in its half
//
// A call is cut into slices. A slice is the same program on the same range of every block, as much
// as fits half of the staging heap. Blocks that differ in size take part as far as each has the
// range.
// - Each rank first fills its half with what peers use of its input.
// - Large all-reduces have two stages: each rank reduces a part, then all read all parts.
// - Ranks begin with different peers, as their programs do: at no time do all read from the same one,
//   whose link they would share.
// - Every rank cuts alike, because the cuts depend on nothing but the call.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/plan/shared.h"

namespace rondo::direct_device {

/// Bytes from one buffer to another one.
struct Run {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t bytes = 0;
};

/// The same from a rank's half to the output.
struct Pull {
  int rank = 0;
  Run run{};
};

/// Combines the elements at the same place of every rank's half, in the order of ranks.
struct Reducing {
  std::size_t place = 0;  ///< in bytes
  std::size_t count = 0;
  std::optional<std::size_t> to{};  ///< in bytes of the output; none: in place in the own half
};

/// One slice, on one rank. Peers are other ranks.
struct Slice {
  std::vector<Run> fill{};             ///< input to the own half
  std::vector<int> readers{};          ///< peers that read that
  std::vector<int> sources{};          ///< peers whose halves it reads
  std::vector<Run> own{};              ///< input to output
  std::vector<Pull> pulls{};           ///< when the sources have filled theirs
  std::optional<Reducing> reducing{};  ///< then
  std::vector<Pull> gathers{};         ///< of parts, when the sources have reduced; own ones, too
};

class Plan {
 public:
  /// `call` has at least one element, in a communicator of at least 2 ranks; a half holds at least
  /// one element of each block. `counts`: of blocks that differ in size. `lowered`: this rank's
  /// program, of at most two stages, over copies.
  Plan(const Call& call, Counts counts, std::shared_ptr<const SharedPlan> lowered, int rank,
       int ranks, std::size_t half_bytes);

  std::size_t slices() const { return slices_; }
  Slice slice(std::size_t index) const;

 private:
  /// What a slice has of each block, in elements.
  struct Range {
    std::size_t begin;
    Partition chunks;  ///< one after the other
  };

  const Program& program() const { return lowered_->program; }
  std::size_t bytes(std::size_t elements) const { return elements * element_bytes_; }
  std::size_t size(int chunk, const Range& range) const { return bytes(range.chunks.size(chunk)); }
  ChunkSpan held_by(int rank, Buffer buffer) const;
  std::size_t at(Buffer buffer, int chunk, const Range& range) const;
  std::size_t shown_at(int rank, int chunk, const Range& range) const;
  void fill(const Range& range, Slice& slice) const;
  void add(const Op& op, const Range& range, Slice& slice) const;

  Call call_;
  std::shared_ptr<const SharedPlan> lowered_;
  Partition chunks_;  ///< of the whole call
  int rank_;
  std::size_t element_bytes_;
  std::set<int> shown_{};       ///< input chunks that peers use, or this rank's reductions
  std::vector<int> readers_{};  ///< peers
  std::vector<int> sources_{};  ///< peers
  std::size_t limit_ = 0;       ///< elements of a block in a slice
  std::size_t slices_ = 0;
};

/// Makes one rank's plans, and keeps the programs. Threads: one at a time.
class Planner {
 public:
  /// Up to so many bytes every rank reduces all of an all-reduce by itself: one exchange of
  /// signals.
  static constexpr std::size_t most_one_shot_bytes = std::size_t{64} << 10;

  Planner(int rank, int ranks, std::size_t half_bytes)
      : rank_(rank), ranks_(ranks), half_bytes_(half_bytes) {}
  /// Throws Error{internal} for collectives that are not made here: barriers, scans.
  Plan plan(const Call& call, Counts counts = {});

 private:
  int rank_;
  int ranks_;
  std::size_t half_bytes_;
  std::map<std::pair<Collective, int>, SharedPlans> programs_{};  ///< by root
};

}  // namespace rondo::direct_device
