// Windows: users' memory that all ranks of a communicator have registered together, so that peers
// read it where it lies.
//
// A call returns at once, without a word from the others, so each rank takes it that its peers'
// buffers lie at the same offset of the same window as its own, as NCCL asks for, too; what ranks
// announce of their calls tells where they do not (watcher.h). A window is of one size on all
// ranks, so what lies in one of them lies in all.
//
// Memory of cudaMalloc is shared by CUDA IPC, that of cuMemCreate (PyTorch's expandable segments)
// by its segments' file descriptors, as many as hold the buffer. That of pools is not, and managed
// memory is no window at all.
//
// Registering is collective; giving a window back is not. A rank unmaps what it mapped itself. The
// owner may free the memory then, as its own calls are complete only when all have read: from there
// on nobody reads what others still map, unless a rank makes a call that its peer never makes. By
// CUDA's manual a mapping holds a segment; what becomes of memory of cudaMalloc that is freed while
// another process has it open is undefined, and of a killed owner's nothing is said
// (tests/gpu/freed_memory.py looks).
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "core/direct_device/area.h"

namespace rondo::direct_device {

/// Threads: one at a time.
class Windows {
 public:
  explicit Windows(const Area& area) : area_(area) {}
  /// See close().
  ~Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  /// Collective, with the area's context current. The window's number, the same on every rank; 0,
  /// on all alike, where a rank's memory cannot be mapped by another one or sizes differ:
  /// RONDO_DEBUG=INFO says whose and why. Throws what exchanging texts throws.
  std::uint32_t add(detail::CommunicatorState* state, const void* buffer, std::size_t bytes);
  /// This rank puts no call on it into a stream any more. The others' stay mapped where one that is
  /// there may still read them, until one of the next of these two calls finds that none does, or
  /// close(). With the context current.
  void remove(std::uint32_t number);
  /// The oldest window that holds all `bytes`, if any.
  WindowPlace find(const void* buffer, std::size_t bytes) const;
  /// Where a place is in the window of each rank.
  std::vector<cuda::DevicePointer> addresses(const WindowPlace& place) const;

  /// Unmaps everything; with the context current.
  void close();
  /// The same where the context is gone.
  void abandon();

 private:
  struct Window {
    cuda::DevicePointer begin = 0;
    std::size_t bytes = 0;
    std::vector<cuda::DevicePointer> of_ranks{};
    std::vector<Mapped> mapped{};  ///< what that took
  };
  class Offer;
  void unmap_left();
  Offer offer(const void* buffer, std::size_t bytes) const;
  static std::string obstacle_to_sharing(const Offer& offer, const std::vector<Offer>& offers);
  std::string obstacle(const std::vector<Offer>& offers) const;
  Window map(const std::vector<Offer>& offers, std::chrono::milliseconds patience) const;

  const Area& area_;
  std::uint32_t newest_ = 0;  ///< number
  std::map<std::uint32_t, Window> windows_{};
  std::vector<Window> left_{};  ///< given back, but still mapped
};

}  // namespace rondo::direct_device
