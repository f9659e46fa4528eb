// The command line of programs that are no row of programs.cc: they measure something beside the usual.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>

namespace rondo::bench {

/// A sweep: each size is `factor` times the last.
struct Sizes {
  std::size_t smallest;
  std::size_t largest;
  std::size_t factor;

  /// Calls visit(size) for each.
  void each(const std::function<void(std::size_t)>& visit) const;
};

/// Adds -b, -e and -f. `least`: the smallest size that can be.
void add_sizes(CLI::App& app, Sizes& sizes, std::size_t least);

/// Reads the command line and runs `body`. Returns main()'s status: 2 for wrong use, 1 where `body`
/// throws.
int run_side_program(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace rondo::bench
