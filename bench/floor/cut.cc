#include "bench/floor/cut.h"

#include <algorithm>

#include "core/schedule/layout.h"

namespace rondo::bench {
namespace {

constexpr std::size_t line = 64 / sizeof(float);

/// Rounds down to whole cache lines where there is at least one.
std::size_t aligned(std::size_t elements) {
  return elements < line ? elements : elements - elements % line;
}

}  // namespace

Cut::Cut(std::size_t count, int chunks, std::size_t frame_bytes) {
  const Partition partition(make_layout(Collective::all_reduce, chunks, chunks), count,
                            sizeof(float));
  std::size_t largest = 0;
  for (int chunk = 0; chunk <= chunks; ++chunk) {
    offsets_.push_back(partition.offset(chunk));
    if (chunk < chunks) largest = std::max(largest, partition.size(chunk));
  }
  const std::size_t most = std::max<std::size_t>(1, aligned(frame_bytes / sizeof(float)));
  slice_ = largest;
  if (largest > most) {
    const std::size_t passes = (largest + most - 1) / most;
    slice_ = std::min(most, aligned((largest + passes - 1) / passes + 64));
  }
  slices_ = slice_ == 0 ? 0 : static_cast<int>((largest + slice_ - 1) / slice_);
}

}  // namespace rondo::bench
