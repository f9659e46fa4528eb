// Registered memory: what devices read and write, pinned in physical memory while it lives.
//
// Channels register their slots once, when they connect; of the user's memory a RegionCache says
// what is registered, and when.
//
// All but lines is registered with relaxed ordering (IBV_ACCESS_RELAXED_ORDERING, which the library
// leaves out where a device or its driver does not know it): the device may then write a message's
// parts to memory in any order, which the host's bridges carry faster. That is safe because nobody
// looks at memory to find out what has arrived: a slot is read after the completion of its receive,
// which comes after all of its data whatever the order, and is written again only by a receive that
// is posted afterwards. Memory that is sent from is only read. Lines (channel_end.h) are looked at
// to find out what has arrived, so devices write them in order.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/verbs/library.h"
#include "transports/verbs/rail.h"
#include "transports/verbs/region_cache.h"

namespace rondo::verbs {

/// Who may reach registered memory.
enum class Reachable : std::uint8_t {
  own_device,  ///< sends and receives of this process
  peers        ///< also writes of peers that were told the key
};

/// Page-aligned memory, zero at first, open to the devices of some rails.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  /// Throws Error{out_of_memory} where there is none or where it may not be pinned.
  RegisteredMemory(std::size_t bytes, int rank, int peer);
  /// Lets the rail's device at it, once; `rail` outlives the memory. Throws Error.
  void open_to(const Rail& rail, int peer, Reachable reachable = Reachable::own_device);

  std::byte* data() const { return memory_.get(); }
  /// What work requests on that rail name it by. Of rails that open_to() was called with.
  std::uint32_t key(const Rail& rail) const;
  /// What peers name it by.
  std::uint32_t peers_key(const Rail& rail) const;

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  struct Region {
    const Rail* rail;
    MemoryRegion handle;
  };
  const ibv_mr& handle_on(const Rail& rail) const;

  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{}};
  std::vector<Region> regions_{};  // goes before the memory
};

/// For RegionCache: a block that the rail's device may read from. `rail` outlives it. Throws Error.
Registration register_block(const Rail& rail, const Block& block);

}  // namespace rondo::verbs
