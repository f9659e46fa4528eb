#include "transports/verbs/regions.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace rondo::verbs {

void RegisteredMemory::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

RegisteredMemory::RegisteredMemory(std::size_t bytes, int rank, int peer) {
  // Registering pins every page anyway. Making the pages now is faster.
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::out_of_memory,
                "no memory for a channel of " + std::to_string(bytes) + " bytes",
                {.rank = rank, .peer = peer, .remedy = "set a smaller RONDO_SLOT_BYTES"});
  }
  memory_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
}

void RegisteredMemory::open_to(const OpenPort& port, int peer, Reachable reachable) {
  const auto same = [&](const Region& region) { return region.port == &port; };
  if (std::ranges::any_of(regions_, same)) return;
  const std::size_t bytes = memory_.get_deleter().bytes;
  const int ordering_or_reach =
      reachable == Reachable::peers ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_RELAXED_ORDERING;
  MemoryRegion handle =
      register_memory(port.domain(), data(), bytes, IBV_ACCESS_LOCAL_WRITE | ordering_or_reach);
  if (!handle) {
    throw call_error("registering " + std::to_string(bytes) + " bytes", errno, port.link(peer));
  }
  regions_.push_back({&port, std::move(handle)});
}

std::uint32_t RegisteredMemory::key(const OpenPort& port) const { return handle_on(port).lkey; }

std::uint32_t RegisteredMemory::peers_key(const OpenPort& port) const {
  return handle_on(port).rkey;
}

const ibv_mr& RegisteredMemory::handle_on(const OpenPort& port) const {
  for (const Region& region : regions_) {
    if (region.port == &port) return *region.handle;
  }
  throw Error(ErrorCode::internal, "memory was used on a port that it is not registered with");
}

Registration register_block(const OpenPort& port, const Block& block) {
  // Devices may read what is registered, without another flag.
  constexpr int access = IBV_ACCESS_RELAXED_ORDERING;
  MemoryRegion handle =
      register_memory(port.domain(), const_cast<std::byte*>(block.base), block.bytes, access);
  if (!handle) {
    throw call_error("registering " + std::to_string(block.bytes) + " bytes", errno, port.link(-1));
  }
  const std::uint32_t key = handle->lkey;
  return {std::make_shared<MemoryRegion>(std::move(handle)), key};
}

}  // namespace rondo::verbs
