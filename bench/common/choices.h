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

/// One line for each stretch of sizes with the same choice: "8 B to 64 KB: ring over shm (...)".
/// The choice is what stands before a description's first " in ", ':', ';' or '('.
std::vector<std::string> summarize_choices(std::span<const Choice> choices);

}  // namespace rondo::bench
