// What is compared: the collectives, their shapes, and what each must leave in its output.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace rondo::compare {

/// `copy` is no collective: every rank copies its own input, which measures what memory carries.
enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, all_to_all, copy };

inline Collective parse_collective(const std::string& name) {
  if (name == "all_reduce") return Collective::all_reduce;
  if (name == "reduce_scatter") return Collective::reduce_scatter;
  if (name == "all_gather") return Collective::all_gather;
  if (name == "broadcast") return Collective::broadcast;
  if (name == "all_to_all") return Collective::all_to_all;
  if (name == "copy") return Collective::copy;
  throw std::invalid_argument("unknown collective '" + name + "'");
}

/// Elements of one rank's buffers. The size of a call is that of a rank's larger buffer. Where
/// ranks exchange blocks it is `ranks` blocks, of at least one element each.
struct Shape {
  std::size_t block;   ///< elements of one rank's part, or of everything where there are no parts
  std::size_t input;   ///< elements of the input
  std::size_t output;  ///< elements of the output
};

inline Shape shape_of(Collective collective, std::size_t bytes, std::size_t ranks) {
  const std::size_t vector = bytes / sizeof(float);
  const std::size_t block = vector < ranks ? 1 : vector / ranks;
  switch (collective) {
    case Collective::reduce_scatter:
      return {block, ranks * block, block};
    case Collective::all_gather:
      return {block, block, ranks * block};
    case Collective::all_to_all:
      return {block, ranks * block, ranks * block};
    default:
      return {vector, vector, vector};
  }
}

/// The root of a job's call number `call`. It goes round, so that every call has to wait for the
/// one before and nobody can run ahead.
inline int root_of(std::size_t call, int ranks) {
  return static_cast<int>(call % static_cast<std::size_t>(ranks));
}

}  // namespace rondo::compare
