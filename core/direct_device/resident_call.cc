#include "core/direct_device/resident_call.h"

#include "core/direct_device/reduce.h"
#include "core/direct_device/signals.h"
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

/// A rank that touches others' windows says so, for their owners and for a rank that gives up.
void ResidentCall::put(const StagingHeap& heap, resident::Executor& executor,
                       std::uint64_t number) const {
  const FlagSegment& flags = heap.flags();
  const bool replays = number == 0 && is_in_windows();
  Signals signals(heap);
  signals.begin(number);
  if (replays) {
    signals.write(flags.replaying(heap.rank()), 1);
    signals.write(flags.replayed(heap.rank()), ~std::uint32_t{0});
  }
  signals.put(request.stream);
  executor.launch(request.call, buffers, request.stream);
  signals.end(number);
  if (replays) signals.write(flags.replaying(heap.rank()), 0);
  signals.put(request.stream);
}

}  // namespace rondo::direct_device
