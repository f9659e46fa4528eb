#include "transports/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

namespace rondo::shm {
namespace {

SharedRing map_ring(const UniqueFd& memory, RingShape shape, int flags) {
  const std::size_t bytes = shape.bytes();
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, memory.get(), 0);
  if (start == MAP_FAILED) return {nullptr, shape};
  auto unmap = [bytes](std::byte* mapped) { ::munmap(mapped, bytes); };
  return {std::shared_ptr<std::byte>(static_cast<std::byte*>(start), unmap), shape};
}

}  // namespace

Error no_memory(std::size_t bytes, int rank, int peer) {
  return Error(ErrorCode::out_of_memory,
               "no shared memory for a channel of " + std::to_string(bytes) + " bytes",
               {.rank = rank,
                .peer = peer,
                .remedy = "set a smaller RONDO_SLOT_BYTES (the same on all ranks), or "
                          "RONDO_TRANSPORT=^shm"});
}

Segment make_segment(RingShape shape, int rank, int peer) {
  const std::size_t bytes = shape.bytes();
  Segment segment{UniqueFd(::memfd_create("rondo-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)), {}};
  if (!segment.memory) {
    throw Error(
        ErrorCode::system, "cannot make shared memory",
        {.rank = rank, .peer = peer, .remedy = "raise the limit of open files (ulimit -n)"});
  }
  // Takes the pages now: writing to a page that cannot be had later would be SIGBUS.
  if (::fallocate(segment.memory.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    throw no_memory(bytes, rank, peer);
  }
  ::fcntl(segment.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  segment.ring = map_ring(segment.memory, shape, MAP_POPULATE);
  if (!segment.ring.memory) throw no_memory(bytes, rank, peer);
  return segment;
}

SharedRing map_segment(const UniqueFd& memory, RingShape shape, int rank, int peer) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != shape.bytes()) {
    throw Error(
        ErrorCode::internal, "the peer's channel memory has another size",
        {.rank = rank, .peer = peer, .remedy = "use the same version of rondo on every rank"});
  }
  SharedRing ring = map_ring(memory, shape, MAP_POPULATE);
  if (!ring.memory) throw no_memory(shape.bytes(), rank, peer);
  return ring;
}

}  // namespace rondo::shm
