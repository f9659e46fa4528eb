// Which algorithm and transport ran over which sizes: the closing lines of a run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rondo::bench {

/// One size of the sweep and what Communicator::describe says of it.
struct Choice {
  std::size_t bytes;
  std::string description;
};

/// One line for each stretch of sizes with the same choice: "8 B to 64 KB: ring over shm, ...". A
/// description's choice is what stands before its first " in ", ':', ';' or '('; the line gives
/// that of its first size whole.
std::vector<std::string> summarize_choices(std::span<const Choice> choices);

}  // namespace rondo::bench
