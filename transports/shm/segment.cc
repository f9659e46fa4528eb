#include "transports/shm/segment.h"

#include <memory>
#include <string>
#include <utility>

#include "core/memory/shared_memory.h"

namespace rondo::shm {
namespace {

constexpr const char* what = "a shared-memory channel";
constexpr const char* remedy =
    "set a smaller RONDO_SLOT_BYTES (the same on all ranks), or RONDO_TRANSPORT=^shm";

SharedRing ring_in(Mapping mapping, RingShape shape) {
  const auto owner = std::make_shared<Mapping>(std::move(mapping));
  return {{owner, owner->data()}, shape};
}

}  // namespace

Error no_memory(std::size_t bytes, int rank, int peer) {
  return Error(ErrorCode::out_of_memory,
               std::string("no memory for ") + what + " of " + std::to_string(bytes) + " bytes",
               {.rank = rank, .peer = peer, .remedy = remedy});
}

Segment make_segment(RingShape shape, int rank, int peer) {
  SharedMemory made =
      make_shared_memory(shape.bytes(), what, {.rank = rank, .peer = peer, .remedy = remedy});
  return {std::move(made.descriptor), ring_in(std::move(made.mapping), shape)};
}

SharedRing map_segment(const UniqueFd& memory, RingShape shape, int rank, int peer) {
  Mapping mapping = map_shared_memory(memory.get(), shape.bytes());
  if (!mapping) throw no_memory(shape.bytes(), rank, peer);
  return ring_in(std::move(mapping), shape);
}

}  // namespace rondo::shm
