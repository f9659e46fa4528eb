#include "core/direct_device/buffers.h"

#include <algorithm>

#include "core/direct_device/plan.h"

namespace rondo::direct_device {

bool overlap(const stream::Request& request, int rank, int ranks) {
  const cuda::DevicePointer input = cuda::address_of(request.input);
  const cuda::DevicePointer output = cuda::address_of(request.output);
  return input < output + bytes_of(request, Buffer::output, rank, ranks) &&
         output < input + bytes_of(request, Buffer::input, rank, ranks);
}

WindowPlaces places_of(const stream::Request& request, const Windows& windows, int rank,
                       int ranks) {
  const Call& call = request.call;
  const auto find = [&](Buffer buffer) -> WindowPlace {
    const void* const begin = buffer == Buffer::input ? request.input : request.output;
    const WindowPlace place = windows.find(begin, bytes_of(request, buffer, rank, ranks));
    // Kernels read and write whole elements, on every rank; what is staged may lie anywhere.
    const auto is_aligned = [&](cuda::DevicePointer address) {
      return address % size_of(call.type) == 0;
    };
    return std::ranges::all_of(windows.addresses(place), is_aligned) ? place : WindowPlace{};
  };
  if (request.scale) return {};
  WindowPlaces places;
  switch (call.collective) {
    case Collective::all_gather:
      places.output = find(Buffer::output);
      return places;
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      places.input = find(Buffer::input);
      return places;
    case Collective::all_reduce:
      places.input = find(Buffer::input);
      if (places.input.window != 0 && call.count * size_of(call.type) > Plan::most_one_shot_bytes)
        places.output = find(Buffer::output);
      return places;
    default:
      return places;
  }
}

}  // namespace rondo::direct_device
