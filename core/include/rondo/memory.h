// Memory that the ranks of one machine read and write directly.
//
//   rondo::Memory memory = rondo::allocate(64 << 20);    // bytes
//   std::span<float> gradients = memory.as<float>();
//   world.all_reduce(gradients);
//
// Any buffer works in every call. A call moves the fewest bytes if its buffers lie in such memory
// on every rank of a machine. Then each rank reads its peers' inputs and writes its peers' outputs
// where they are.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace rondo {

/// Owns a block from allocate(). A handle that can be moved. The destructor frees the block, so
/// complete all work on it first.
/// - The pages are free at once.
/// - Peers that have mapped the block unmap it when they next look at their connections, at the
///   latest at the end of the communicator. A child forked before that reads zeros there.
/// - In a forked child the handle's destructor does not free the parent's memory.
class Memory {
 public:
  Memory() = default;
  void* data() const { return block_.get(); }
  std::size_t size() const { return bytes_; }
  explicit operator bool() const { return block_ != nullptr; }
  /// The block as elements of T, as many as fit.
  template <class T>
  std::span<T> as() const {
    static_assert(std::is_trivially_copyable_v<T>, "rondo: Memory holds bytes, not objects");
    return {static_cast<T*>(data()), size() / sizeof(T)};
  }

 private:
  friend Memory allocate(std::size_t bytes);
  Memory(std::shared_ptr<void> block, std::size_t bytes)
      : block_(std::move(block)), bytes_(bytes) {}

  std::shared_ptr<void> block_{};
  std::size_t bytes_ = 0;
};

/// `bytes` of zeroed memory, aligned to pages. Its pages are taken at once, near the calling
/// thread. Zero bytes give an empty handle. Thread-safe. Throws:
/// - Error{out_of_memory}, which says how much was asked for
/// - Error{system} when file descriptors are used up: each block holds one
Memory allocate(std::size_t bytes);

struct Available {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< max(): nothing is known
  std::string group{};  ///< the control group whose limit this is; empty: the machine's memory
};

/// How much memory this process can still get. It is the least of what the machine and each control
/// group (cgroup) of the process would give, up to the outermost group that it can see. Memory that
/// the kernel can take back, such as cached files, counts as free. So this is an upper bound: other
/// processes may take the memory first. Thread-safe. Never throws Error.
Available available_memory();

}  // namespace rondo
