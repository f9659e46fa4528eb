#include "core/direct_device/resident_call.h"

#include "core/direct_device/reduce.h"

namespace rondo::direct_device {

void put_resident(const StagingHeap& heap, resident::Executor& executor,
                  const stream::Request& request, std::uint64_t number) {
  Signals signals(heap);
  signals.begin(number);
  signals.put(request.stream);
  cuda::DevicePointer input = cuda::address_of(request.input);
  const std::size_t bytes = executor.held_bytes(request.call, Buffer::input);
  if (request.scale && bytes > 0) {
    multiply(heap.context(), request.call,
             {.target = executor.staged_input(),
              .source = input,
              .scalar = request.scalar,
              .scalar_later = request.scalar_later,
              .count = bytes / size_of(request.call.type)},
             request.stream);
    input = executor.staged_input();
  }
  executor.launch(request.call, input, cuda::address_of(request.output), request.stream);
  signals.end(number);
  signals.put(request.stream);
}

}  // namespace rondo::direct_device
