// The oracle of all suites: what a call must leave in every rank's memory. Results come from the
// reference interpreter of the call's schedule, on patterned inputs of any type and operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/control/call.h"
#include "core/schedule/reference.h"

namespace rondo::test {

/// The kernels, as the reference takes them.
extern const Arithmetic cpu_arithmetic;

/// A call of all ranks.
struct Case {
  Call call{};
  /// By rank, of a call whose blocks differ in size; else empty.
  std::vector<std::size_t> counts{};
  bool in_place = false;
  /// Bytes that the buffers lie off an aligned place.
  std::size_t offset = 0;
  /// Tells the data of calls apart that are alike in all else.
  unsigned salt = 0;
  /// How many elements rank `from` sends to rank `to`. It makes the call an all_to_all_v of
  /// call.type, and nothing else of `call` counts.
  std::function<std::size_t(int from, int to)> between{};
  /// The blocks of an all_to_all_v lie in the opposite order, with gaps; else packed.
  bool displaced = false;

  std::string words() const;
};

/// A side of an all_to_all_v: by peer, and elements of the whole buffer.
struct ExchangeSide {
  std::vector<std::size_t> counts{};
  std::vector<std::size_t> displacements{};
  std::size_t elements = 0;
};
ExchangeSide sent_by(const Case& exchange, int rank, int ranks);
ExchangeSide received_by(const Case& exchange, int rank, int ranks);

/// Inputs. `whole` numbers are so small that any order of reduction gives the same bits in any
/// type. An avg of floats also needs a power of two as the number of ranks. `order_shows`: bytes
/// that are no NaN and no overflow in any type.
enum class Values { whole, order_shows };

/// Every rank's input, and what its output must be.
struct Expected {
  std::vector<Bytes> inputs{};
  std::vector<Bytes> outputs{};
};
Expected expected_of(const Case& given, const Schedule& schedule,
                     Values values = Values::order_shows);

/// A rank's input, in `bytes` bytes.
Bytes patterned(const Case& given, std::size_t bytes, int rank, int ranks, Values values);

/// One call of all ranks, with each rank's memory before and after it. Input and output lie in the
/// same memory. Several threads may read it at once.
class Trial {
 public:
  static constexpr int every = -1;
  /// By the schedule that reduces in the order of ranks. `only`: the one rank whose memory is asked
  /// for, as where each rank makes a trial for itself.
  Trial(const Case& given, int ranks, Values values = Values::whole, int only = every);
  Trial(const Case& given, const Schedule& schedule, Values values = Values::order_shows);

  const Case& given() const { return given_; }
  int ranks() const { return static_cast<int>(sides_.size()); }
  const Bytes& before(int rank) const { return asked_for(rank).before; }
  /// Bytes that the call reads, and writes, of this rank's.
  std::size_t reads(int rank) const { return side(rank).read; }
  std::size_t writes(int rank) const { return side(rank).written; }
  /// Where input and output begin in the rank's memory.
  std::size_t input(int rank) const { return side(rank).input; }
  std::size_t output(int rank) const { return side(rank).output; }

  /// Throws unless `memory` holds what the call must leave there: the output, the input as it was,
  /// and nothing written around them. Nothing is promised of an input that holds the output.
  void check(int rank, const void* memory) const;

  /// Makes the call in memory of the host, or in this memory, and checks it: call(input, output).
  template <class Make>
  void run(int rank, Make&& call) const {
    Bytes memory(before(rank).size());
    run_in(memory.data(), rank, call);
  }
  template <class Make>
  void run_in(std::byte* memory, int rank, Make&& call) const {
    std::copy(before(rank).begin(), before(rank).end(), memory);
    call(memory + input(rank), memory + output(rank));
    check(rank, memory);
  }

 private:
  struct Side {
    Bytes before{};
    Bytes after{};
    std::size_t input = 0;
    std::size_t output = 0;
    std::size_t read = 0;      ///< bytes of input
    std::size_t written = 0;   ///< bytes of output
    bool only_output = false;  ///< the rest of the memory may hold anything
  };
  const Side& side(int rank) const { return sides_[static_cast<std::size_t>(rank)]; }
  void add_collective(const Schedule& schedule, Values values);
  void add_exchange(int ranks);
  bool is_asked_for(int rank) const { return only_ == every || only_ == rank; }
  /// Throws for another.
  const Side& asked_for(int rank) const;

  Case given_;
  int only_ = every;
  std::vector<Side> sides_{};
};

/// Each collective of NCCL that moves or reduces data, of `count` elements a block, in place too where that
/// may be. What has a root has `root`.
std::vector<Case> every_collective(std::size_t count, int root, DataType type = DataType::int32,
                                   ReduceOperator op = ReduceOperator::sum);
/// The scans, likewise, which NCCL does not have.
std::vector<Case> every_scan(std::size_t count, DataType type = DataType::int32,
                             ReduceOperator op = ReduceOperator::sum);
/// Each collective whose blocks may differ in size, likewise.
std::vector<Case> every_ragged(const std::vector<std::size_t>& counts, int root);

/// Counts of elements by rank: all equal, a ramp from zero on, and all on the last rank.
std::vector<std::vector<std::size_t>> ragged_counts(int ranks);

/// Whether the collective's blocks may differ in size.
bool has_blocks(Collective collective);
/// The algorithm that adds in the order of ranks.
const Algorithm& in_rank_order(Collective collective);

}  // namespace rondo::test
