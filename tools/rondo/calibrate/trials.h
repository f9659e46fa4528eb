// The calls that calibration times, as trials of bench/floor. Part of measuring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/floor/team.h"
#include "bench/floor/trial.h"
#include "kernels/cpu/reduce.h"
#include "rondo/rondo.h"

namespace rondo::tool {

/// Vectors of one rank: input, output and a third one, each of the longest size.
struct Buffers {
  explicit Buffers(double longest)
      : input(elements(longest), 1.0F),
        other(elements(longest), 1.0F),
        output(elements(longest), 0.0F) {}
  static std::size_t elements(double bytes) { return static_cast<std::size_t>(bytes) / 4 + 16; }

  std::vector<float> input;
  std::vector<float> other;
  std::vector<float> output;
};

/// A call is a round trip between the ranks of a pair. A rank without a partner has no part.
bench::Trial ping_pong(Communicator& world, Buffers& buffers, double bytes);
/// An all_gather in place, of so many bytes in all.
bench::Trial gather_all(Communicator& world, Buffers& buffers, double bytes);
/// A reduce_scatter of so many bytes in all, from input to output.
bench::Trial scatter_all(Communicator& world, Buffers& buffers, double bytes);
bench::Trial all_reduce(Communicator& world, Buffers& buffers, double bytes);
/// `streaming`: results go past the caches.
bench::Trial copies(Buffers& buffers, double bytes, bool streaming);
bench::Trial reduces(Buffers& buffers, double bytes, const Combination& how);

}  // namespace rondo::tool
