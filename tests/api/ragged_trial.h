// A ragged call on all its ranks, and what it must give: the oracle is the reference interpreter.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/table.h"
#include "core/plan/choose.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/api/make_call.h"
#include "tests/catch.h"

namespace rondo::test {

inline const Arithmetic cpu_arithmetic{
    .reduce = [](DataType type, ReduceOperator op, void* out, std::span<const void* const> operands,
                 std::size_t count) { reduce(type, op, out, operands, count); },
    .scale = scale,
    .divide = divide};

struct Case {
  Call call{};
  std::vector<std::size_t> counts{};
  bool in_place = false;
};

/// One case with what every rank puts in and gets out.
class Trial {
 public:
  Trial(const Case& given, const Schedule& schedule, std::mt19937& random)
      : case_(given),
        partition_(schedule.layout, case_.counts, size_of(case_.call.type)),
        schedule_(schedule) {
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      // Small non-negative numbers of any type: no byte makes a NaN or an overflow.
      Bytes input(held_bytes(Buffer::input, rank).second);
      for (std::byte& byte : input) byte = static_cast<std::byte>(random() % 48);
      inputs.push_back(std::move(input));
      memory_.emplace_back(inputs.back().size() + held_bytes(Buffer::output, rank).second);
    }
    expected_ =
        reference(schedule, partition_, case_.call.type, case_.call.op, inputs, cpu_arithmetic);
    for (int rank = 0; rank < schedule.ranks; ++rank)
      std::ranges::copy(inputs[static_cast<std::size_t>(rank)], input(rank));
  }

  /// In place the smaller buffer lies in the larger one, at its own block.
  std::byte* input(int rank) { return begin(rank, Buffer::input, Buffer::output); }
  std::byte* output(int rank) {
    if (case_.in_place) return begin(rank, Buffer::output, Buffer::input);
    return memory(rank).data() + held_bytes(Buffer::input, rank).second;
  }
  void call(Communicator& comm) {
    make_call(comm, case_.call, case_.counts, input(comm.rank()), output(comm.rank()));
  }
  void check() {
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      const Bytes& wanted = expected_[static_cast<std::size_t>(rank)];
      INFO(to_string(case_.call) << " of " << schedule_.ranks << " ranks, the first with "
                                 << case_.counts[0] << (case_.in_place ? ", in place" : "")
                                 << ", rank " << rank);
      REQUIRE(std::equal(wanted.begin(), wanted.end(), output(rank)));
    }
  }

 private:
  Bytes& memory(int rank) { return memory_[static_cast<std::size_t>(rank)]; }
  /// Where the buffer begins in the index space, and its length.
  std::pair<std::size_t, std::size_t> held_bytes(Buffer buffer, int rank) const {
    const ChunkSpan span =
        held(case_.call.collective, buffer, schedule_.layout, rank, case_.call.root);
    const std::size_t first = partition_.offset(span.first);
    const std::size_t element = size_of(case_.call.type);
    return {first * element, (partition_.offset(span.first + span.count) - first) * element};
  }
  std::byte* begin(int rank, Buffer buffer, Buffer other) {
    const auto [first, bytes] = held_bytes(buffer, rank);
    const auto [others_first, others_bytes] = held_bytes(other, rank);
    const bool within = case_.in_place && others_bytes > bytes;
    return memory(rank).data() + (within && bytes > 0 ? first - others_first : 0);
  }

  Case case_;
  Partition partition_;
  const Schedule& schedule_;
  std::vector<Bytes> memory_{};
  std::vector<Bytes> expected_{};
};

inline bool has_blocks(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::gather || collective == Collective::scatter;
}

/// The direct path adds in the order of ranks, as one_shot does.
inline const Algorithm& in_rank_order(Collective collective) {
  const Algorithm* const row = find_algorithm(collective, "one_shot");
  return row != nullptr ? *row : *find_algorithm(collective, "linear");
}

}  // namespace rondo::test
