// Encoding: makes an image (image.h) of a lowered program and the sizes of a call.
#pragma once

#include <cstddef>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "kernels/device/image.h"

namespace rondo::device {

struct EncodeRequest {
  const Schedule& schedule;    ///< its header; the steps are not read
  const Program& program;      ///< lowered from it for `rank`
  const Partition& partition;  ///< of its layout
  int rank = 0;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  int longest_message = 1;  ///< chunks in a message, at most, on any rank (core/plan/lower.h)
  Protocol protocol = Protocol::bulk;
  ArenaShape arena{};
};

/// The image, aligned as any new memory. Ranks that encode equal requests but for program and rank
/// cut their messages alike. Throws Error{configuration} where the arena is too small or its shape
/// is not valid, Error{invalid_argument} where an op has more than most_operands operands.
std::vector<std::byte> encode(const EncodeRequest& request);

/// Scratch memory that a rank needs to run the image, for all stripes together.
std::size_t scratch_bytes(const Image& image);

/// Checks the shape alone. Throws as encode() does.
void check(const ArenaShape& shape);

}  // namespace rondo::device
