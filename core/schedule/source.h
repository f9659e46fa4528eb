// Sources of ops for the stepping loop: a schedule converted lazily, or lowered programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/schedule/op.h"

namespace rondo {

/// One op as a source hands it out; the pointers stay valid until the lane's next one is asked for.
struct Move {
  const Op* op = nullptr;
  std::span<const Operand> operands{};
  std::uint64_t index = 0;  ///< of the lane's steps, or of the program's ops, from 0
};

/// Converts steps to ops as they are asked for: memory is one coroutine frame per rank and lane.
/// Throws Error{invalid_argument} for a step that `defect` rejects.
class ScheduleSource {
 public:
  explicit ScheduleSource(const Schedule& schedule, LineOf line_of = {});

  const Schedule& header() const { return *schedule_; }
  /// False at the lane's end.
  bool next(int rank, int lane, Move& move);
  /// Lanes are independent, so nothing but channels ever holds a step back.
  static bool may_run(int, const Move&) { return true; }
  static void done(int, const Move&) {}
  static bool is_merged() { return false; }
  static std::span<const std::int32_t> stores(int, const Move&) { return {}; }

 private:
  struct Lane {
    std::optional<Steps> steps{};
    std::vector<Operand> operands{};
    Op op{};
    std::uint64_t index = 0;
  };
  const Schedule* schedule_;
  LineOf line_of_;
  std::vector<Lane> lanes_;  ///< rank * lanes + lane
};

/// Runs lowered programs, one of each rank, each lane in program order. Dependencies on ops of
/// other lanes are honoured, and the stages of merged programs. The programs outlive the source.
class ProgramSource {
 public:
  ProgramSource(const Schedule& header, std::span<const Program> programs);

  const Schedule& header() const { return *header_; }
  bool next(int rank, int lane, Move& move);
  bool may_run(int rank, const Move& move) const;
  void done(int rank, const Move& move);
  bool is_merged() const { return programs_[0].stages > 0; }
  std::span<const std::int32_t> stores(int rank, const Move& move) const {
    return programs_[static_cast<std::size_t>(rank)].stores_of(*move.op);
  }

 private:
  /// The ranks whose memory the op's stage touches have ended the stage before.
  bool stage_begins(int rank, int stage) const;

  const Schedule* header_;
  std::span<const Program> programs_;
  std::vector<std::size_t> position_;        ///< rank * lanes + lane: next op to look at
  std::vector<std::vector<bool>> finished_;  ///< per rank, per op
  /// Per rank, per stage of a merged program: ops that are not finished.
  std::vector<std::vector<std::size_t>> left_;
};

}  // namespace rondo
