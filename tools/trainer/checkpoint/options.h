// The options for checkpoints.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::train {

/// Equal on every rank.
struct CheckpointOptions {
  std::string folder{};            ///< shared by all hosts; empty: no checkpoints
  std::size_t every = 100;         ///< save every so many steps, and after the last
  std::size_t keep = 2;            ///< how many of the newest to keep, from 1
  std::string format = "sharded";  ///< or "whole": one file, written by rank 0
  bool resume = false;             ///< continue from the newest; start anew if none
  bool older = false;              ///< if that is damaged, from the one before it
};

}  // namespace rondo::train
