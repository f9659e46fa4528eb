// What a benchmark program is: one row of data that the common code interprets.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bench/common/count_pattern.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Whose output is asked about.
struct Place {
  int rank;
  int ranks;
  int root;
  int block;  ///< which of the output's blocks
};

/// What an output block must hold.
struct Piece {
  enum class Source { input, reduced, untouched };
  Source source;
  int rank = 0;   ///< whose input, for Source::input
  int block = 0;  ///< which block of the input, or of the reduction
};
constexpr Piece input_of(int rank, int block = 0) { return {Piece::Source::input, rank, block}; }
constexpr Piece reduced(int block = 0) { return {Piece::Source::reduced, 0, block}; }
constexpr Piece untouched() { return {Piece::Source::untouched}; }

/// The arguments of one call.
struct Call {
  const void* input;
  void* output;
  std::size_t count;  ///< as the API takes it: per block where the collective has blocks
  DataType type;
  ReduceOperator op;
  int root;
  std::span<const std::size_t> counts{};    ///< of ragged calls: of each block, or of those sent
  std::span<const std::size_t> received{};  ///< by rank, where every rank has lists of its own
};

/// What the busiest rank's part of the bytes depends on.
struct Load {
  const std::vector<std::size_t>& counts;  ///< Shape's
  int ranks;
  int root;
};

struct Program {
  std::string_view name;  ///< "all_reduce_perf"
  Collective collective;
  bool input_blocks;   ///< the input holds a block for every rank
  bool output_blocks;  ///< the output holds a block from every rank
  bool in_place;       ///< an in-place form exists
  /// The floor of any algorithm: the part of all bytes that some rank must send, or receive; of
  /// all_reduce twice that, nccl-tests' factor.
  double (*busbw_factor)(const Load& load);
  Piece (*expected)(const Place& place);
  bool (*reads_input)(const Place& place);  ///< this rank's input matters
  void (*call)(Communicator& communicator, const Call& call);
  /// The same with blocks that differ in size; null where there are no blocks.
  void (*call_ragged)(Communicator& communicator, const Call& call) = nullptr;

  /// Every rank has a list of its own: the shape's, turned by its rank.
  bool exchanges() const { return input_blocks && output_blocks; }
};

/// The row named, or nullptr.
const Program* find_program(std::string_view name);

/// Elements that one size of the sweep means for a program on one rank.
struct Shape {
  std::size_t count = 0;   ///< a block, as the API takes it; of ragged calls the mean
  std::size_t input = 0;   ///< elements of the input
  std::size_t output = 0;  ///< elements of the output
  std::size_t bytes = 0;   ///< the size column: the larger of both, on the rank where it is largest
  /// Elements of each block by rank, the same list on every rank (see Program::exchanges()). One
  /// where there are no blocks.
  std::vector<std::size_t> counts{};
};
/// Which rank's shape, and how its blocks differ.
struct Dealt {
  int ranks = 1;
  int rank = 0;
  CountPattern count_pattern{};
};
/// `bytes` is what the sweep asks for; the shape's is what whole blocks of the same size make of
/// it, which is then dealt out to the blocks.
Shape shape_of(const Program& program, std::size_t bytes, DataType type, const Dealt& dealt);

struct Bandwidth {
  double algbw = 0;  ///< GB/s, 1 GB = 1e9 B: bytes / seconds
  double busbw = 0;  ///< algbw x the program's factor
};
Bandwidth bandwidth_of(const Program& program, const Shape& shape, int ranks, int root,
                       double seconds);

}  // namespace rondo::bench
