// The last lines of a run: which algorithm and transport ran for which sizes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rondo::bench {

/// One size of the sweep and the text of Communicator::describe() for it.
struct Choice {
  std::size_t bytes;
  std::string description;
};

/// One line for each stretch of sizes with the same choice: "8 B to 64 KB: ring over shm (...)".
/// The choice is the part of a description before its first " in ", ':', ';' or '('.
std::vector<std::string> summarize_choices(std::span<const Choice> choices);

}  // namespace rondo::bench
