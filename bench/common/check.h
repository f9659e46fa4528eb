// Checks one call: known inputs, output filled with a pattern, guard zones around it. Every element
// is compared.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/common/buffer.h"
#include "bench/common/data.h"
#include "bench/common/program.h"

namespace rondo::bench {

/// The layout of a rank's two buffers for one row of the table.
struct Layout {
  const Program* program;
  Shape shape;
  DataType type;
  int rank;
  int ranks;
  int root;
  bool in_place;

  std::size_t bytes_of(std::size_t elements) const { return elements * size_of(type); }
  /// Elements of each block that a rank's input holds, and of those that its output holds.
  std::vector<std::size_t> input_counts(int of) const;
  std::vector<std::size_t> output_counts(int of) const;
  /// Where, in bytes, input and output start in their buffer. In place both lie in the output
  /// buffer, and the smaller of them is the rank's own block of the larger.
  std::size_t input_offset() const;
  std::size_t output_offset() const;
};

/// Writes the input, fills the output with a pattern and sets the guard zones.
void prepare_check(const Layout& layout, const Pattern& pattern, Buffer& input, Buffer& output);

/// After the call: wrong output elements, changed input elements (out of place) and changed guard
/// bytes of this rank.
std::size_t count_errors(const Layout& layout, const Pattern& pattern, const Buffer& input,
                         const Buffer& output);

}  // namespace rondo::bench
