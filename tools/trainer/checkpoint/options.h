// What can be asked for about checkpoints.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::train {

/// Equal on every rank.
struct CheckpointOptions {
  std::string folder{};            ///< shared by all hosts; empty: no checkpoints
  std::size_t every = 100;         ///< steps, and behind the last one
  std::size_t keep = 2;            ///< so many of the newest, from 1
  std::string format = "sharded";  ///< or "whole": one file, written by rank 0
  bool resume = false;             ///< go on from the newest, or begin where there is none
  bool older = false;              ///< where that is broken, from the one before it
};

}  // namespace rondo::train
