// Windows: users' memory that all ranks of a communicator registered together, so that peers'
// kernels read and write it (resident_call.h), and peers put into it (one_sided.h).
//
// - A call returns at once, without asking the others. So each rank assumes that its peers' buffers
//   lie at the same offset of the same window as its own, as NCCL asks for. Ranks announce their
//   calls, which shows where this is wrong (watcher.h).
// - A window has the same size on all ranks. So what lies in one lies in all.
// - Memory of cudaMalloc is shared by CUDA IPC. Memory of cuMemCreate (PyTorch's expandable
//   segments) is shared by the file descriptors of the segments that hold the buffer. Memory of
//   pools cannot be shared, and managed memory cannot be a window.
// - Registering is collective. Giving a window back is not. A rank unmaps what it mapped itself.
// - The owner may free the memory once it has given the window back, because its own calls are
//   complete only when all have used it. Peers may still map the memory. In a call that this rank never
//   makes their kernels wait for it, and touch nothing. Puts of peers must have been awaited before.
// - CUDA's manual says that a mapping keeps a segment alive. It leaves undefined what happens to
//   cudaMalloc memory that is freed while another process has it open, and says nothing of an owner
//   that was killed. tests/gpu/freed_memory.py finds out.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "core/direct_device/staging_heap.h"

namespace rondo::direct_device {

/// Threads: one at a time.
class Windows {
 public:
  explicit Windows(const StagingHeap& heap) : heap_(heap) {}
  /// See close().
  ~Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  /// Collective, with the heap's context current. Returns the window's number, the same on every
  /// rank. It is 0 on all of them if a rank's memory cannot be mapped by another one, or if sizes
  /// differ: RONDO_DEBUG=INFO says whose and why. Throws what exchanging texts throws.
  std::uint32_t add(detail::CommunicatorState* state, const void* buffer, std::size_t bytes);
  /// This rank puts no call on it into a stream any more. The others' memory stays mapped where a
  /// call that is there may still use it, until the next add() or remove() that finds none, or
  /// close(). With the context current.
  void remove(std::uint32_t number);
  /// The oldest window that holds all `bytes`, if any.
  WindowPlace find(const void* buffer, std::size_t bytes) const;
  /// Where `bytes` at a place of a rank's window are. Throws Error{invalid_argument} where they are
  /// not all in it.
  cuda::DevicePointer address(const WindowPlace& place, int rank, std::size_t bytes) const;
  bool empty() const { return windows_.empty(); }
  /// Where a place is in the window of each rank; empty: of none.
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
  struct Offer;
  void unmap_left();
  Offer offer(const void* buffer, std::size_t bytes) const;
  static std::string obstacle_to_sharing(const Exported& memory, const std::vector<Offer>& offers);
  std::string obstacle(const std::vector<Offer>& offers) const;
  Window map(const std::vector<Offer>& offers, std::chrono::milliseconds patience) const;

  const StagingHeap& heap_;
  std::uint32_t newest_ = 0;  ///< number
  std::map<std::uint32_t, Window> windows_{};
  std::vector<Window> left_{};  ///< given back, but still mapped
};

}  // namespace rondo::direct_device
