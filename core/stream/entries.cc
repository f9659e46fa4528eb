#include "core/stream/entries.h"

#include <algorithm>

namespace rondo::stream {
namespace {

using cuda::check;
using cuda::driver;

constexpr std::size_t scalar_bytes = 8;  ///< the widest type's; scalars of others are shorter

void copy(const void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  check(driver().memcpy_async(cuda::address_of(to), cuda::address_of(from), bytes, stream),
        "cuMemcpyAsync");
}

void copy_in(const Item& item, std::size_t slice, cuda::Stream stream) {
  const Lane& lane = item.lane();
  const std::size_t number = item.first + slice;
  if (item.scalar_on_device) {
    const std::size_t bytes = std::min(scalar_bytes, size_of(item.request.call.type));
    copy(lane.scalar(number), item.request.scalar, bytes, stream);
  }
  if (!item.input_on_device) return;
  const auto* const from = static_cast<const std::byte*>(item.request.input);
  for (std::size_t run = 0; run < item.slices.input_copies(slice); ++run) {
    const Slices::Copy part = item.slices.input_copy(slice, run);
    copy(lane.slot(number) + part.slot_offset, from + part.buffer_offset, part.bytes, stream);
  }
}

void copy_out(const Item& item, std::size_t slice, cuda::Stream stream) {
  if (!item.output_on_device) return;
  const std::byte* const slot = item.lane().slot(item.first + slice);
  const auto* const to = static_cast<const std::byte*>(item.request.output);
  for (std::size_t run = 0; run < item.slices.output_copies(slice); ++run) {
    const Slices::Copy part = item.slices.output_copy(slice, run);
    copy(to + part.buffer_offset, slot + part.slot_offset, part.bytes, stream);
  }
}

}  // namespace

void enter_next(Batch& batch, Kind& kind, cuda::Stream stream) {
  Item& item = batch.items[kind.items[kind.entering]];
  const std::size_t slice = item.entered;
  copy_in(item, slice, stream);
  kind.lane->write_ready(item.first + slice, stream);
  ++kind.entered;
  if (++item.entered == item.slices.count()) ++kind.entering;
}

void await_next(Batch& batch, Kind& kind, cuda::Stream stream) {
  Item& item = batch.items[kind.items[kind.leaving]];
  const std::size_t number = item.first + item.left;
  kind.lane->await_done(number, stream);
  // From here on the stream waits, and must be answered, whatever fails behind it.
  ++kind.left;
  if (++item.left == item.slices.count()) ++kind.leaving;
  kind.lane->reset_done(number, stream);
}

void leave_next(Batch& batch, Kind& kind, cuda::Stream stream) {
  const Item& item = batch.items[kind.items[kind.leaving]];
  const std::size_t slice = item.left;
  await_next(batch, kind, stream);
  copy_out(item, slice, stream);
}

std::size_t entries_of_next(const Batch& batch, const Kind& kind) {
  const Item& item = batch.items[kind.items[kind.entering]];
  constexpr std::size_t flags = 3;  // write `ready`, wait for `done`, write `done`
  return flags + (item.scalar_on_device ? 1 : 0) +
         (item.input_on_device ? item.slices.input_copies(item.entered) : 0) +
         (item.output_on_device ? item.slices.output_copies(item.entered) : 0);
}

}  // namespace rondo::stream
