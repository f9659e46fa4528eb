// Small all-reduces written by hand (kernels/device/small.h), against the schedules of their names.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "kernels/cpu/reduce.h"
#include "kernels/device/small.h"
#include "tests/device/host_group.h"
#include "tests/device/placed.h"

namespace rondo::device::test {

struct SmallCase {
  SmallAlgorithm algorithm;
  std::uint64_t count;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  std::uint32_t stripes = 1;
  bool in_place = false;
};

inline ArenaShape mailboxes(int ranks) {
  return {.ranks = static_cast<std::uint32_t>(ranks),
          .stripes = 2,
          .packet_stripes = 2,
          .frame_bytes = 16,
          .packets = 1,
          .mailbox = 64,
          .flag_period = 32,
          .wipe_interval = 4};
}

/// One call, with its memory.
class SmallRanks {
 public:
  SmallRanks(HostGroup& group, const SmallCase& given, unsigned salt) : given_(given) {
    const auto ranks = static_cast<int>(group.shape().ranks);
    const Schedule schedule = find_algorithm(Collective::all_reduce, algorithm())->build(ranks, 0);
    const Call call{.count = given.count,
                    .collective = Collective::all_reduce,
                    .type = given.type,
                    .op = given.op};
    expected_ = expected_of({.call = call, .salt = salt}, schedule);
    for (int rank = 0; rank < ranks; ++rank) place(group, rank);
  }

  void run(HostTeam& team, std::uint32_t rank, std::uint32_t stripe) const {
    run_small(team, calls_[rank], stripe);
  }
  /// Once the call has ended. Empty: the outputs are right.
  std::string wrong() {
    for (std::size_t rank = 0; rank < out_.size(); ++rank) {
      if (calls_[rank].control->failed != 0)
        return "rank " + std::to_string(rank) + " ended a wait, " + words();
      if (given_.op == ReduceOperator::avg)
        divide(given_.type, out_[rank].data(), out_.size(), given_.count);
      if (out_[rank].bytes() != expected_.outputs[rank])
        return "wrong output on rank " + std::to_string(rank) + ", " + words();
    }
    return {};
  }

 private:
  const char* algorithm() const {
    return given_.algorithm == SmallAlgorithm::one_shot ? "one_shot" : "two_shot";
  }
  std::string words() const {
    return std::string(algorithm()) + " ranks " + std::to_string(out_.size()) + " count " +
           std::to_string(given_.count) + " " + std::string(name(given_.type)) + " " +
           std::string(name(given_.op)) + " stripes " + std::to_string(given_.stripes) +
           (given_.in_place ? " in place" : "");
  }
  void place(HostGroup& group, int rank) {
    const Bytes& input = expected_.inputs[static_cast<std::size_t>(rank)];
    in_.emplace_back(input, 0);
    out_.emplace_back(given_.in_place ? input : Bytes(input.size()), 0);
    SmallCall& call = calls_.emplace_back();
    call.input = given_.in_place ? out_.back().data() : in_.back().data();
    call.output = out_.back().data();
    call.arenas = group.arenas();
    call.control = &group.control(rank);
    call.arena = group.shape();
    call.rank = static_cast<std::uint32_t>(rank);
    call.count = given_.count;
    call.recipe = {.type = given_.type, .op = given_.op};
    if (given_.op == ReduceOperator::avg && given_.type >= DataType::float16)
      call.recipe.before = 1.0 / static_cast<double>(group.shape().ranks);
    call.algorithm = given_.algorithm;
    call.stripes = given_.stripes;
  }

  SmallCase given_;
  Expected expected_{};
  std::vector<Placed> in_{}, out_{};
  std::vector<SmallCall> calls_{};
};

/// Runs the calls in a row. A team does one after the other, and waits for no other team in between.
/// Says what was wrong; empty: nothing. `salt` tells the data apart from those of other calls.
inline std::string wrong_small_calls(HostGroup& group, std::span<const SmallCase> cases,
                                     std::uint32_t threads, unsigned salt, const RunTeams& run,
                                     std::uint32_t patience = ample_patience) {
  const std::uint32_t ranks = group.shape().ranks;
  const std::uint32_t stripes = group.shape().stripes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    group.control(static_cast<int>(rank)).patience = patience;
  std::vector<std::unique_ptr<SmallRanks>> calls;
  for (const SmallCase& given : cases)
    calls.push_back(std::make_unique<SmallRanks>(group, given, salt++));
  run(ranks * stripes, threads, [&](HostTeam& team, std::uint32_t number) {
    for (const auto& call : calls) {
      call->run(team, number / stripes, number % stripes);
      team.synchronize();  // a launch begins when the one before it has ended
    }
  });
  for (const auto& call : calls) {
    const std::string problem = call->wrong();
    if (!problem.empty()) return problem + ", " + std::to_string(threads) + " threads";
  }
  return {};
}

}  // namespace rondo::device::test
