#include "core/stream/entries.h"

#include <algorithm>

namespace rondo::stream {
namespace {

constexpr std::size_t scalar_bytes = 8;  ///< the widest type's; scalars of others are shorter

void copy(const void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  cuda::copy(cuda::address_of(to), cuda::address_of(from), bytes, stream);
}

void copy_in(const Item& item, std::size_t slice, cuda::Stream stream) {
  const Lane& lane = item.lane();
  const std::size_t number = item.first + slice;
  if (item.scalar_on_device) {
    const std::size_t bytes = std::min(scalar_bytes, size_of(item.request.call.type));
    copy(lane.scalar(number), item.request.scalar, bytes, stream);
  }
  if (!item.request.where.input.on_device) return;
  const auto* const from = static_cast<const std::byte*>(item.request.input);
  for (std::size_t run = 0; run < item.slices.input_copies(slice); ++run) {
    const Slices::Copy part = item.slices.input_copy(slice, run);
    copy(lane.slot(number) + part.slot_offset, from + part.buffer_offset, part.bytes, stream);
  }
}

void copy_out(const Item& item, std::size_t slice, cuda::Stream stream) {
  if (!item.request.where.output.on_device) return;
  const std::byte* const slot = item.lane().slot(item.first + slice);
  const auto* const to = static_cast<const std::byte*>(item.request.output);
  for (std::size_t run = 0; run < item.slices.output_copies(slice); ++run) {
    const Slices::Copy part = item.slices.output_copy(slice, run);
    copy(to + part.buffer_offset, slot + part.slot_offset, part.bytes, stream);
  }
}

std::size_t entries_of(const Item& item, std::size_t slice) {
  constexpr std::size_t flags = 3;  // write `ready`, wait for `done`, write `done`
  return flags + (item.scalar_on_device ? 1 : 0) +
         (item.request.where.input.on_device ? item.slices.input_copies(slice) : 0) +
         (item.request.where.output.on_device ? item.slices.output_copies(slice) : 0);
}

}  // namespace

bool may_enter_next(const Batch& batch, const Kind& kind) {
  const Item& item = batch.items[kind.items[kind.entering]];
  return kind.entered - kind.left < Lane::depth && (!item.waits || kind.left >= item.first);
}

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
  // From here on the stream waits, and must be answered, whatever fails afterwards.
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
  return entries_of(item, item.entered);
}

/// As if all slices of a kind were its first one.
std::size_t entries_left(const Batch& batch) {
  constexpr std::size_t around = 3;  // waits for and records of events, the host's function
  std::size_t entries = 0;
  for (const Kind& kind : batch.kinds) {
    const std::size_t left = kind.slices - kind.answered.load(std::memory_order_relaxed);
    if (left > 0) entries += around + left * entries_of(batch.items[kind.items.front()], 0);
  }
  return entries;
}

}  // namespace rondo::stream
