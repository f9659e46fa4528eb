// Registered memory: what devices read and write, pinned in physical memory while it lives.
//
// Channels register their slots once, when they connect. A RegionCache decides which of the user's
// memory is registered, and when.
//
// All memory except lines (channel_end.h) is registered with relaxed ordering
// (IBV_ACCESS_RELAXED_ORDERING, which libibverbs leaves out where a device or its driver does not
// know it). The device may then write the parts of a message in any order, which the host's bridges
// carry faster. That is safe:
// - A slot is read after the completion of its receive, which comes after all of its data.
// - A slot is written again only by a receive that is posted afterwards.
// - Memory that is sent from is only read.
// Receivers poll lines to find out what has arrived, so devices must write lines in order.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/verbs/library.h"
#include "transports/verbs/open_port.h"
#include "transports/verbs/region_cache.h"

namespace rondo::verbs {

/// Which devices may reach registered memory.
enum class Reachable : std::uint8_t {
  own_device,  ///< sends and receives of this process
  peers        ///< also writes of peers that were told the key
};

/// Page-aligned memory, zero at first, open to the devices of some ports.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  /// Throws Error{out_of_memory} where there is none or where it may not be pinned.
  RegisteredMemory(std::size_t bytes, int rank, int peer);
  /// Registers it with the port's device, once; `port` outlives the memory. Throws Error.
  void open_to(const OpenPort& port, int peer, Reachable reachable = Reachable::own_device);

  std::byte* data() const { return memory_.get(); }
  /// The key by which work requests on that port name it. Only for ports given to open_to().
  std::uint32_t key(const OpenPort& port) const;
  /// The key by which peers name it.
  std::uint32_t peers_key(const OpenPort& port) const;

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  struct Region {
    const OpenPort* port;
    MemoryRegion handle;
  };
  const ibv_mr& handle_on(const OpenPort& port) const;

  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{}};
  std::vector<Region> regions_{};  // goes before the memory
};

/// For RegionCache: a block that the port's device may read from. `port` outlives it. Throws Error.
Registration register_block(const OpenPort& port, const Block& block);

}  // namespace rondo::verbs
