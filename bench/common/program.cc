#include "bench/common/program.h"

#include <algorithm>

namespace rondo::bench {

Shape shape_of(const Program& program, std::size_t bytes, DataType type, int ranks) {
  const std::size_t width = size_of(type);
  const auto blocks = static_cast<std::size_t>(ranks);
  const bool blocked = program.input_blocks || program.output_blocks;
  Shape shape;
  shape.count = bytes / width / (blocked ? blocks : 1);
  shape.input = shape.count * (program.input_blocks ? blocks : 1);
  shape.output = shape.count * (program.output_blocks ? blocks : 1);
  shape.bytes = std::max(shape.input, shape.output) * width;
  return shape;
}

Bandwidth bandwidth_of(const Program& program, const Shape& shape, int ranks, double seconds) {
  if (seconds <= 0) return {};
  const double algbw = static_cast<double>(shape.bytes) / 1e9 / seconds;
  return {algbw, algbw * program.busbw_factor(ranks)};
}

}  // namespace rondo::bench
