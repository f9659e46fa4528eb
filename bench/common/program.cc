#include "bench/common/program.h"

#include <algorithm>

namespace rondo::bench {

Shape shape_of(const Program& program, std::size_t bytes, DataType type, const Dealt& dealt) {
  const std::size_t width = size_of(type);
  const bool blocked = program.input_blocks || program.output_blocks;
  const std::size_t blocks = blocked ? static_cast<std::size_t>(dealt.ranks) : 1;
  Shape shape;
  shape.count = bytes / width / blocks;
  const std::size_t all = shape.count * blocks;
  shape.counts = counts_of(blocked ? dealt.count_pattern : CountPattern{}, all, blocks);
  const std::size_t own = blocked ? shape.counts[static_cast<std::size_t>(dealt.rank)] : all;
  shape.input = program.input_blocks ? all : own;
  shape.output = program.output_blocks ? all : own;
  shape.bytes = all * width;
  return shape;
}

Bandwidth bandwidth_of(const Program& program, const Shape& shape, int ranks, int root,
                       double seconds) {
  if (seconds <= 0) return {};
  const double algbw = static_cast<double>(shape.bytes) / 1e9 / seconds;
  return {algbw, algbw * program.busbw_factor({shape.counts, ranks, root})};
}

}  // namespace rondo::bench
