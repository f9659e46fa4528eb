// Memory that the ranks of one machine read and write directly.
//
//   rondo::Memory gradients = rondo::allocate(64 << 20);
//   world.all_reduce(gradients.data(), gradients.data(), count, rondo::DataType::float32);
//
// Any buffer works in every call. Calls whose buffers lie in such memory on every rank of a machine
// move the fewest bytes: each rank reads its peers' inputs and writes its peers' outputs in place.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace rondo {

/// Owns a block from allocate(). Movable handle; the destructor frees the block: complete all work
/// on it first. The pages are free at once. Peers that have mapped it let go of their addresses
/// when they next look at their connections, at the latest at the end of the communicator; a child
/// that was forked in between reads zeros there. A forked child's own handle takes nothing from its
/// parent.
class Memory {
 public:
  Memory() = default;
  void* data() const { return block_.get(); }
  std::size_t size() const { return bytes_; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  friend Memory allocate(std::size_t bytes);
  Memory(std::shared_ptr<void> block, std::size_t bytes)
      : block_(std::move(block)), bytes_(bytes) {}

  std::shared_ptr<void> block_{};
  std::size_t bytes_ = 0;
};

/// `bytes` of zeroed memory, page-aligned, its pages taken at once and near the calling thread.
/// Zero bytes give an empty handle. Thread-safe. Throws Error{out_of_memory} that says how much was
/// asked for, Error{system} when file descriptors are used up (each block holds one).
Memory allocate(std::size_t bytes);

struct Available {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< the most where nothing is known
  std::string group{};  ///< the control group whose limit it is; empty: the machine's memory
};

/// The least of what the machine and each control group (cgroup) of this process, up to the
/// outermost one that it can see, would still give. What the kernel can take back (cached files, by
/// swapping) counts as free: what is more cannot be had, what is less may still be taken by others
/// first. Thread-safe; never throws Error.
Available available_memory();

}  // namespace rondo
