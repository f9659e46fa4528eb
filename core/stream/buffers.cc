#include "core/stream/buffers.h"

#include "core/plan/ragged.h"

namespace rondo::stream {
namespace {

MemoryRange range_of(const void* begin, std::size_t bytes) {
  return {cuda::address_of(begin), bytes};
}

}  // namespace

std::size_t bytes_of(const Request& request, Buffer buffer, int rank, int ranks) {
  const Call& call = request.call;
  if (!is_message(request))
    return held_elements(call, request.counts, buffer, rank, ranks).count * size_of(call.type);
  return (buffer == Buffer::input) == request.sends ? call.count * size_of(call.type) : 0;
}

bool is_on_devices(const Request& request, int rank, int ranks) {
  const bool reads = bytes_of(request, Buffer::input, rank, ranks) > 0;
  const bool writes = bytes_of(request, Buffer::output, rank, ranks) > 0;
  const Locations& where = request.where;
  if (!reads && !writes) return !where.input.on_host && !where.output.on_host;
  return (!reads || where.input.on_device) && (!writes || where.output.on_device);
}

bool Written::add(const Request& request) {
  const bool waits = meets(request);
  if (waits) memory_ = WrittenMemory({});
  memory_.add(range_of(request.output, bytes_of(request, Buffer::output, rank_, ranks_)));
  return waits;
}

bool Written::meets(const Request& request) const {
  const std::size_t scalar = request.scale ? size_of(request.call.type) : 0;
  return memory_.meets(range_of(request.input, bytes_of(request, Buffer::input, rank_, ranks_))) ||
         memory_.meets(
             range_of(request.output, bytes_of(request, Buffer::output, rank_, ranks_))) ||
         memory_.meets(range_of(request.scalar, scalar));
}

}  // namespace rondo::stream
