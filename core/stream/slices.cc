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

Slices::Slices(const Call& call, bool sends, int rank, int ranks, std::size_t slot_bytes)
    : call_(call), element_bytes_(size_of(call.type)) {
  const Layout layout = make_layout(call.collective, ranks, 1);
  ChunkSpan in{.first = 0, .count = sends ? 1 : 0};
  ChunkSpan out{.first = 0, .count = sends ? 0 : 1};
  if (call.collective != Collective::send_recv) {
    in = held(call.collective, Buffer::input, layout, rank, call.root);
    out = held(call.collective, Buffer::output, layout, rank, call.root);
  }
  input_.blocks = static_cast<std::size_t>(in.count);
  output_.blocks = static_cast<std::size_t>(out.count);
  // The larger buffer begins at the slot's first byte, and the smaller one lies in it.
  input_.place = in.count < out.count ? static_cast<std::size_t>(in.first - out.first) : 0;
  output_.place =
      out.count < in.count && out.count > 0 ? static_cast<std::size_t>(out.first - in.first) : 0;
  const bool apart = call.collective == Collective::all_to_all;
  if (apart) output_.place = input_.blocks;
  if (in.count == 0) input_.place = 0;

  const std::size_t in_slot = static_cast<std::size_t>(layout.blocks) * (apart ? 2 : 1);
  limit_ = slot_bytes / (in_slot * element_bytes_);
  if (limit_ == 0) {
    throw Error(ErrorCode::invalid_argument,
                "device buffers are not served with so many ranks as " + std::to_string(ranks),
                {.rank = rank, .call = to_string(call), .remedy = "use host memory"});
  }
  if (limit_ > aligned) limit_ -= limit_ % aligned;
  first_ = call.count;
  count_ = 1;
  if (call.count <= limit_) return;
  const std::size_t shorter = divide_up(call.count, limit_) * step % std::max(limit_ / 2, step);
  first_ = limit_ > 2 * step ? limit_ - shorter : limit_;
  count_ = 1 + divide_up(call.count - first_, limit_);
}

std::size_t Slices::begin(std::size_t slice) const {
  if (slice == 0) return 0;
  return std::min(first_ + (slice - 1) * limit_, call_.count);
}

Call Slices::call(std::size_t slice) const {
  Call part = call_;
  part.count = elements(slice);
  return part;
}

/// A buffer whose blocks are whole in the slice is one run.
std::size_t Slices::copies(const Side& side, std::size_t slice) const {
  if (elements(slice) == 0) return 0;
  return elements(slice) == call_.count ? std::min<std::size_t>(side.blocks, 1) : side.blocks;
}

Slices::Copy Slices::copy(const Side& side, std::size_t slice, std::size_t run) const {
  const std::size_t size = elements(slice);
  const std::size_t blocks = size == call_.count ? side.blocks : 1;
  return {.buffer_offset = (run * call_.count + begin(slice)) * element_bytes_,
          .slot_offset = (side.place + run) * size * element_bytes_,
          .bytes = blocks * size * element_bytes_};
}

std::size_t Slices::offset(const Side& side, std::size_t slice) const {
  return side.place * elements(slice) * element_bytes_;
}

}  // namespace rondo::stream
