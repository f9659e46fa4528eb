#include "core/direct_device/resident_call.h"

#include "core/direct_device/reduce.h"
#include "core/stream/buffers.h"

namespace rondo::direct_device {

WindowPlaces places_of(const stream::Request& request, resident::WindowUse use,
                       const Windows& windows, int rank, int ranks) {
  if (request.scale || !use.any()) return {};
  WindowPlaces places;
  if (use.input)
    places.input = windows.find(request.input, bytes_of(request, Buffer::input, rank, ranks));
  if (use.output)
    places.output = windows.find(request.output, bytes_of(request, Buffer::output, rank, ranks));
  const bool all =
      (!use.input || places.input.window != 0) && (!use.output || places.output.window != 0);
  return all ? places : WindowPlaces{};
}

ResidentCall::ResidentCall(const stream::Request& of, const WindowPlaces& places,
                           const Windows& windows)
    : request(of),
      buffers{.scalar =
                  of.scale ? scalar_at(of.scalar, of.call.type, of.scalar_later) : device::Scalar{},
              .input = cuda::address_of(of.input),
              .output = cuda::address_of(of.output),
              .inputs = windows.addresses(places.input),
              .outputs = windows.addresses(places.output)} {}

/// The same as signals of a stream (Signals::begin()), but the kernel writes them. A rank that touches
/// others' windows says so, for their owners and for a rank that gives up.
device::Marks ResidentCall::marks(const StagingHeap& heap, std::uint64_t number) const {
  const FlagSegment& flags = heap.flags();
  const int rank = heap.rank();
  const auto mark = [&](const std::uint32_t& word, std::uint32_t value) {
    return device::Mark{reinterpret_cast<std::uint32_t*>(flags.device_address(word)), value};
  };
  const auto low = static_cast<std::uint32_t>(number);
  if (number != 0)
    return {.begun = {mark(flags.begun(rank), low)}, .ended = {mark(flags.completed(rank), low)}};
  device::Marks marks{
      .begun = {mark(flags.began_captured(rank), 1), mark(flags.inside_captured(rank), 1)},
      .ended = {mark(flags.inside_captured(rank), 0)}};
  if (is_in_windows()) {
    marks.in_every_block = true;
    marks.begun[2] = mark(flags.replaying(rank), 1);
    marks.begun[3] = mark(flags.replayed(rank), ~std::uint32_t{0});
    marks.ended[1] = mark(flags.replaying(rank), 0);
  }
  return marks;
}

void ResidentCall::put(const StagingHeap& heap, resident::Executor& executor,
                       std::uint64_t number) const {
  executor.launch(request.call, buffers, marks(heap, number), request.stream);
}

}  // namespace rondo::direct_device
