// Calls of one algorithm by the device interpreter, against the reference.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/device/interpret.h"
#include "tests/device/host_group.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"

namespace rondo::device::test {

/// Slots are so small that even these tests' sizes need several passes, and flags repeat soon.
inline ArenaShape small_arena(const Lowered& lowered) {
  const auto teams = static_cast<std::uint32_t>(2 * lowered.schedule.lanes);
  return {.ranks = static_cast<std::uint32_t>(lowered.schedule.ranks),
          .stripes = teams,
          .packet_stripes = teams,
          .depth = static_cast<std::uint32_t>(lowered.traits.depth),
          .frame_bytes = 2048,
          .packets = 128,
          .mailbox = 1,
          .flag_period = 64,
          .wipe_interval = 8};
}

struct ProgramCase {
  std::size_t count;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  Protocol protocol = Protocol::bulk;
  bool in_place = false;
  std::size_t misaligned = 0;  ///< elements that buffers lie off 16 bytes
};

/// The memory of one call, by rank.
class ProgramRanks {
 public:
  ProgramRanks(const Lowered& lowered, HostGroup& group, const ProgramCase& given, unsigned salt)
      : schedule_(lowered.schedule), given_(given) {
    const Call call{.count = given.count,
                    .collective = schedule_.collective,
                    .type = given.type,
                    .op = given.op,
                    .root = schedule_.root};
    expected_ = expected_of({.call = call, .salt = salt}, schedule_);
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      parts_.push_back(
          lowered.prepare(rank, given.count, given.type, given.op, given.protocol, group.shape()));
      place(group.context(rank), static_cast<std::size_t>(rank));
    }
    if (lowered.is_merged()) place_windows(lowered, group.shape());
  }

  const RankContext& context(std::size_t rank) const { return contexts_[rank]; }
  std::uint32_t teams() const { return parts_.front().teams(); }
  /// Input, output and scratch.
  std::array<std::span<const std::byte>, 3> memory(std::size_t rank) const {
    return {in_[rank].span(), out_[rank].span(), scratch_[rank].span()};
  }

  /// Once the call has ended. Empty: the outputs are right.
  std::string wrong() {
    for (std::size_t rank = 0; rank < out_.size(); ++rank) {
      if (info(schedule_.collective).reduces && given_.op == ReduceOperator::avg)
        rondo::divide(given_.type, out_[rank].data(), out_.size(),
                      out_[rank].size() / size_of(given_.type));
      if (out_[rank].bytes() != expected_.outputs[rank])
        return "wrong output on rank " + std::to_string(rank) + ", " + words();
    }
    return {};
  }
  std::string words() const {
    return "count " + std::to_string(given_.count) + " " + std::string(name(given_.type)) + " " +
           std::string(name(given_.op)) +
           (given_.protocol == Protocol::bulk ? " bulk" : " low latency") +
           (given_.in_place ? " in place" : "") + ", misaligned " +
           std::to_string(given_.misaligned);
  }

 private:
  void place(RankContext context, std::size_t rank) {
    const Bytes& input = expected_.inputs[rank];
    const Bytes output(expected_.outputs[rank].size());
    const bool same = given_.in_place && input.size() == output.size();
    const std::size_t offset = given_.misaligned * size_of(given_.type);
    in_.emplace_back(input, offset);
    out_.emplace_back(same ? input : output, offset);
    scratch_.emplace_back(Bytes(parts_[rank].scratch_bytes), 0);
    context.program = parts_[rank].program.data();
    context.sizes = parts_[rank].sizes;
    context.input = same ? out_.back().data() : in_.back().data();
    context.output = out_.back().data();
    context.scratch = scratch_.back().data();
    contexts_.push_back(context);
  }

  void place_windows(const Lowered& lowered, const ArenaShape& arena) {
    std::vector<std::byte*> inputs, outputs;
    for (const RankContext& context : contexts_) {
      inputs.push_back(const_cast<std::byte*>(context.input));
      outputs.push_back(context.output);
    }
    const WindowAddresses windows =
        windows_of(lowered.request(0, given_.count, given_.type, given_.op, given_.protocol, arena),
                   inputs, outputs);
    for (RankContext& context : contexts_) context.windows = windows;
  }

  const Schedule& schedule_;
  ProgramCase given_;
  Expected expected_{};
  std::vector<Prepared> parts_{};
  std::vector<Placed> in_{}, out_{}, scratch_{};
  std::vector<RankContext> contexts_{};
};

/// A group of ranks, with all the calls that it has made so far.
class ProgramRunner {
 public:
  ProgramRunner(const Algorithm& row, int ranks, int root, std::uint32_t patience = ample_patience)
      : ProgramRunner(row, Lowered(row, ranks, root), patience) {}
  ProgramRunner(const Algorithm& row, Lowered lowered, std::uint32_t patience = ample_patience)
      : row_(row), lowered_(std::move(lowered)), group_(small_arena(lowered_)) {
    for (int rank = 0; rank < lowered_.schedule.ranks; ++rank)
      group_.control(rank).patience = patience;
  }

  /// Runs the calls in a row. A team does one after the other, and waits for no other team in
  /// between. Says what was wrong; empty: nothing.
  std::string wrong(std::span<const ProgramCase> cases, std::uint32_t threads,
                    const RunTeams& run) {
    std::vector<std::unique_ptr<ProgramRanks>> calls;
    std::uint32_t teams = 1;  // that any call uses: threads without work would take time to start
    for (const ProgramCase& given : cases) {
      calls.push_back(std::make_unique<ProgramRanks>(lowered_, group_, given, ++calls_));
      teams = std::max(teams, calls.back()->teams());
    }
    run(group_.shape().ranks * teams, threads, [&](HostTeam& team, std::uint32_t number) {
      for (const auto& call : calls) {
        if (!run_lane(team, call->context(number / teams), number % teams)) return;
        team.synchronize();  // a launch begins when the one before it has ended
      }
    });
    std::string problem = ended_waits();
    for (const auto& call : calls) {
      if (problem.empty()) problem = call->wrong();
    }
    return problem.empty() ? problem : words(threads) + problem;
  }

  bool is_merged() const { return lowered_.is_merged(); }
  /// Whose calls they are.
  std::string words(std::uint32_t threads) const {
    return std::string(name(row_.collective)) + " " + std::string(row_.name) +
           (lowered_.is_merged() ? " merged" : "") + " ranks " +
           std::to_string(lowered_.schedule.ranks) + " root " +
           std::to_string(lowered_.schedule.root) + ", " + std::to_string(threads) + " threads: ";
  }

 private:
  std::string ended_waits() {
    for (int rank = 0; rank < lowered_.schedule.ranks; ++rank) {
      const Control& control = group_.control(rank);
      if (control.failed == 0) continue;
      const Failure& failure = control.failure;
      return "rank " + std::to_string(rank) + " op " + std::to_string(failure.op) + " of lane " +
             std::to_string(failure.lane) + " stripe " + std::to_string(failure.stripe) +
             " waited for " + std::to_string(static_cast<int>(failure.awaited)) + " of peer " +
             std::to_string(failure.peer) + " in pass " + std::to_string(failure.pass) + ", step " +
             std::to_string(failure.step);
    }
    return {};
  }

  const Algorithm& row_;
  Lowered lowered_;
  HostGroup group_;
  unsigned calls_ = 0;
};

}  // namespace rondo::device::test
