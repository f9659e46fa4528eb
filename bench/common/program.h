// What a benchmark program is: one row of data that the common code interprets.
#pragma once

#include <cstddef>
#include <string_view>

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
};

struct Program {
  std::string_view name;  ///< "all_reduce_perf"
  Collective collective;
  bool input_blocks;   ///< the input holds a block for every rank
  bool output_blocks;  ///< the output holds a block from every rank
  bool in_place;       ///< an in-place form exists
  double (*busbw_factor)(int ranks);
  Piece (*expected)(const Place& place);
  bool (*reads_input)(const Place& place);  ///< this rank's input matters
  void (*call)(Communicator& communicator, const Call& call);
};

/// The row named, or nullptr.
const Program* find_program(std::string_view name);

/// Elements that one size of the sweep means for a program.
struct Shape {
  std::size_t count = 0;   ///< a block, as the API takes it
  std::size_t input = 0;   ///< elements of the input
  std::size_t output = 0;  ///< elements of the output
  std::size_t bytes = 0;   ///< the size column: the larger of both
};
/// `bytes` is what the sweep asks for; the shape's is what whole blocks make of it.
Shape shape_of(const Program& program, std::size_t bytes, DataType type, int ranks);

struct Bandwidth {
  double algbw = 0;  ///< GB/s, 1 GB = 1e9 B: bytes / seconds
  double busbw = 0;  ///< algbw x the program's factor
};
Bandwidth bandwidth_of(const Program& program, const Shape& shape, int ranks, double seconds);

}  // namespace rondo::bench
