#include "core/stream/slices.h"

#include <algorithm>
#include <string>

#include "rondo/error.h"

namespace rondo::stream {
namespace {

constexpr std::size_t aligned = 64;  ///< slices begin at multiples of so many elements, or of
constexpr std::size_t step = 16;     ///< so many, by which first slices differ

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

Slices::Slices(const Call& call, Counts counts, bool sends, int rank, int ranks,
               std::size_t slot_bytes)
    : call_(call),
      element_bytes_(size_of(call.type)),
      ragged_(!counts.empty()),
      whole_(partition_of(call, counts, make_layout(call.collective, ranks, 1))) {
  const Layout& layout = whole_.layout();
  input_.blocks = {.first = 0, .count = sends ? 1 : 0};
  output_.blocks = {.first = 0, .count = sends ? 0 : 1};
  if (call.collective != Collective::send_recv) {
    input_.blocks = held(call.collective, Buffer::input, layout, rank, call.root);
    output_.blocks = held(call.collective, Buffer::output, layout, rank, call.root);
  }
  // The larger buffer begins at the slot's first byte, and the smaller one lies in it.
  ChunkSpan& in = input_.blocks;
  ChunkSpan& out = output_.blocks;
  if (in.count == 0) in.first = out.first;
  if (out.count == 0) out.first = in.first;
  origin_ = std::min(in.first, out.first);
  output_.behind = call.collective == Collective::all_to_all;

  const std::size_t slot_elements = slot_bytes / element_bytes_ / (output_.behind ? 2 : 1);
  limit_ = whole_.longest_slice(layout.blocks, slot_elements);
  if (limit_ == 0) {
    throw Error(ErrorCode::invalid_argument,
                "device buffers are not supported for as many ranks as " + std::to_string(ranks),
                {.rank = rank, .call = to_string(call), .remedy = "use host memory"});
  }
  if (limit_ > aligned) limit_ -= limit_ % aligned;
  const std::size_t largest = whole_.largest_chunk();
  first_ = largest;
  count_ = 1;
  if (largest <= limit_) return;
  const std::size_t shorter = divide_up(largest, limit_) * step % std::max(limit_ / 2, step);
  first_ = limit_ > 2 * step ? limit_ - shorter : limit_;
  count_ = 1 + divide_up(largest - first_, limit_);
}

std::size_t Slices::begin(std::size_t slice) const {
  if (slice == 0) return 0;
  return std::min(first_ + (slice - 1) * limit_, whole_.largest_chunk());
}

Call Slices::call(std::size_t slice) const {
  Call part = call_;
  if (!ragged_) {
    part.count = elements(slice);
  } else if (!is_whole(slice)) {
    part.count = this->part(slice).elements();
    mark_as_part(part, call_, slice);
  }
  return part;
}

std::vector<std::size_t> Slices::counts(std::size_t slice) const {
  std::vector<std::size_t> counts;
  const Partition blocks = part(slice);
  for (int block = 0; ragged_ && block < blocks.layout().blocks; ++block)
    counts.push_back(blocks.size(block));
  return counts;
}

/// A buffer whose blocks are whole in the slice is one run.
std::size_t Slices::copies(const Side& side, std::size_t slice) const {
  if (elements(slice) == 0) return 0;
  const auto blocks = static_cast<std::size_t>(side.blocks.count);
  return is_whole(slice) ? std::min<std::size_t>(blocks, 1) : blocks;
}

Slices::Copy Slices::copy(const Side& side, std::size_t slice, std::size_t run) const {
  const Partition blocks = part(slice);
  const int block = side.blocks.first + static_cast<int>(run);
  const std::size_t before = std::min(begin(slice), whole_.size(block));
  const std::size_t in_buffer = whole_.offset(block) - whole_.offset(side.blocks.first) + before;
  const std::size_t in_side = blocks.offset(block) - blocks.offset(side.blocks.first);
  return {.buffer_offset = in_buffer * element_bytes_,
          .slot_offset = offset(side, slice) + in_side * element_bytes_,
          .bytes = (is_whole(slice) ? elements_of(side.blocks, blocks) : blocks.size(block)) *
                   element_bytes_};
}

std::size_t Slices::offset(const Side& side, std::size_t slice) const {
  const Partition blocks = part(slice);
  const std::size_t within = blocks.offset(side.blocks.first) - blocks.offset(origin_);
  return (within + (side.behind ? blocks.elements() : 0)) * element_bytes_;
}

}  // namespace rondo::stream
