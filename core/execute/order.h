// The order in which an executor may run the instances of a call: an instance is one op of one
// pass. Apart from the engine, so that a test can hold every algorithm's programs to it.
#pragma once

#include <cstdint>

#include "core/schedule/program.h"

namespace rondo {

/// Where an instance stands among all of a call. They are numbered in order: each op in turn, with
/// an instance for each of the interleaved passes (see program.h).
struct Position {
  std::uint64_t index = 0;
  std::uint64_t pass = 0;  ///< the first of the interleaved ones
  std::uint32_t op = 0;
  std::uint32_t beside = 0;  ///< passes before its own among the interleaved ones

  void advance(std::uint32_t ops, std::uint32_t interleaved) {
    ++index;
    if (++beside < interleaved) return;
    beside = 0;
    if (++op < ops) return;
    op = 0;
    pass += interleaved;
  }
};

/// Whether everything that the instance at `position` depends on is complete. `is_complete(index)`
/// answers for instances before this one.
template <class IsComplete>
bool ready(const Program& program, std::uint32_t interleaved, const Position& position,
           const IsComplete& is_complete) {
  if (position.beside > 0 && !is_complete(position.index - 1)) return false;
  const std::uint64_t group = std::uint64_t{interleaved} * program.ops.size();
  const std::uint64_t begin =
      position.index - std::uint64_t{interleaved} * position.op - position.beside;
  for (const Dependency& dependency : program.dependencies_of(program.ops[position.op])) {
    if (dependency.previous_pass && position.pass == 0) continue;
    // For an op on the same channel, all its interleaved instances come first.
    const std::uint64_t beside = dependency.same_channel ? interleaved - 1 : position.beside;
    const std::uint64_t on = begin + std::uint64_t{interleaved} * dependency.on + beside;
    if (!is_complete(dependency.previous_pass ? on - group : on)) return false;
  }
  return true;
}

}  // namespace rondo
