// Exported: what a rank tells the others about a block of its device memory.
// Mapped: how another rank reaches that block:
//
//   in the same process        by its address, with peer access from another context
//   in another process         by CUDA IPC
//   there, of cuMemCreate      by file descriptors of its segments
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/segments.h"
#include "core/direct_device/descriptors.h"

namespace rondo::direct_device {

struct Exported {
  std::uint64_t process = 0;  ///< HostInfo's
  std::uintptr_t context = 0;
  cuda::DevicePointer address = 0;  ///< where the allocation begins, or the first segment
  bool shared = false;              ///< `handle` is there, or nobody needs it
  cuda::IpcHandle handle{};
  std::vector<std::size_t> segments{};  ///< bytes of each, of memory of cuMemCreate
  std::string server{};   ///< where to ask for their descriptors, see descriptors.h; empty: nowhere
  std::string refusal{};  ///< why other processes cannot have it; empty: they can, or need not
  /// This rank's own, which others ask: it stays until they have mapped all. Not told.
  std::shared_ptr<DescriptorServer> serving{};

  static void fields(auto& self, auto& archive) {
    archive(self.process, self.context, self.address, self.shared, self.handle, self.segments,
            self.server, self.refusal);
  }
};

/// Exports memory that begins at `address`. `shared`: CUDA IPC can name it. Throws CudaError.
Exported export_memory(cuda::Context context, cuda::DevicePointer address, bool shared);
/// Exports memory of cuMemCreate. There is at least one segment. `to_processes`: others are to have
/// it; else `refusal` says why they cannot.
Exported export_segments(cuda::Context context, const std::vector<cuda::Range>& segments,
                         bool to_processes);

/// The destructor closes the mapping, if there is one. By then everything in streams that needed it
/// must be complete, and the context that mapped it must be current.
class Mapped {
 public:
  /// For the current context. `patience`: how long a peer may take to pass a segment. Throws
  /// CudaError, Error{system}. One handle may be opened several times: the driver counts.
  Mapped(const Exported& theirs, std::chrono::milliseconds patience);
  Mapped(Mapped&& other) noexcept
      : address_(other.address_),
        opened_(std::exchange(other.opened_, false)),
        segments_(std::move(other.segments_)) {}
  Mapped& operator=(Mapped&&) = delete;
  ~Mapped();

  cuda::DevicePointer address() const { return address_; }
  /// Leaves the mapping as it is: its context is gone.
  void abandon();

 private:
  void reach_in_process(const Exported& theirs);
  void map(const Exported& theirs, std::chrono::milliseconds patience);

  cuda::DevicePointer address_ = 0;
  bool opened_ = false;
  std::optional<cuda::MappedSegments> segments_{};
};

}  // namespace rondo::direct_device
