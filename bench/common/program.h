// A benchmark program as data: one row that the common code interprets.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bench/common/count_pattern.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Names one block of one rank's output.
struct Place {
  int rank;
  int ranks;
  int root;
  int block;  ///< which of the output's blocks
};

/// The content that an output block must have after the call.
struct Piece {
  enum class Source { input, reduced, untouched };
  Source source;
  int rank = 0;   ///< whose input, for Source::input
  int block = 0;  ///< which block of the input, or of the reduction
  int ranks = 0;  ///< for Source::reduced: over so many ranks, from 0 on; 0: over all
};
constexpr Piece input_of(int rank, int block = 0) { return {Piece::Source::input, rank, block}; }
constexpr Piece reduced(int block = 0) { return {Piece::Source::reduced, 0, block}; }
constexpr Piece reduced_over(int ranks) { return {Piece::Source::reduced, 0, 0, ranks}; }
constexpr Piece untouched() { return {Piece::Source::untouched}; }

/// The arguments of one call.
struct Call {
  const void* input;
  void* output;
  std::size_t count;  ///< as the API takes it: per block where the collective has blocks
  DataType type;
  ReduceOperator op;
  int root;
  std::span<const std::size_t> counts{};    ///< unequal blocks: of each, or those sent
  std::span<const std::size_t> received{};  ///< received blocks, where each rank has its own lists
};

/// Determines how many bytes the busiest rank moves.
struct Load {
  const std::vector<std::size_t>& counts;  ///< Shape::counts
  int ranks;
  int root;
};

struct Program {
  std::string_view name;  ///< "all_reduce_perf"
  Collective collective;
  bool input_blocks;   ///< the input holds a block for every rank
  bool output_blocks;  ///< the output holds a block from every rank
  bool in_place;       ///< an in-place form exists
  /// busbw / algbw, as in nccl-tests: the part of all bytes that the busiest rank must send or
  /// receive with any algorithm; for all_reduce twice that part.
  double (*busbw_factor)(const Load& load);
  Piece (*expected)(const Place& place);
  bool (*reads_input)(const Place& place);  ///< this rank's input matters
  void (*call)(Communicator& communicator, const Call& call);
  /// The same with blocks of different sizes; null for a collective without blocks.
  void (*call_ragged)(Communicator& communicator, const Call& call) = nullptr;

  /// Whether each rank has its own list of counts: that of the shape, rotated by the rank.
  bool exchanges() const { return input_blocks && output_blocks; }
};

/// The program of this name, or nullptr.
const Program* find_program(std::string_view name);

/// The elements of one rank's buffers at one size of the sweep.
struct Shape {
  std::size_t count = 0;   ///< the API's argument: of a block; with unequal blocks their mean
  std::size_t input = 0;   ///< elements of the input
  std::size_t output = 0;  ///< elements of the output
  std::size_t bytes = 0;   ///< the size column: the larger buffer, on the rank where it is largest
  /// Elements of each block by rank, the same list on every rank (see Program::exchanges()). One
  /// entry for a collective without blocks.
  std::vector<std::size_t> counts{};
};
/// The rank that a shape is for, and how its blocks differ in size.
struct Dealt {
  int ranks = 1;
  int rank = 0;
  CountPattern count_pattern{};
};
/// `bytes` is the size that the sweep asks for. It is rounded so that all blocks are whole and
/// equal; then the pattern of counts divides it again.
Shape shape_of(const Program& program, std::size_t bytes, DataType type, const Dealt& dealt);

struct Bandwidth {
  double algbw = 0;  ///< GB/s, 1 GB = 1e9 B: bytes / seconds
  double busbw = 0;  ///< algbw x the program's factor
};
Bandwidth bandwidth_of(const Program& program, const Shape& shape, int ranks, int root,
                       double seconds);

}  // namespace rondo::bench
